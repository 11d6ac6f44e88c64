// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/message_json.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// Protobuf's own rendering of the same mapping.
nlohmann::json Reference(const v1::ReplayReport& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(report, &json, options).ok());
  return nlohmann::json::parse(json);
}

v1::ReplayReport Filled() {
  v1::ReplayReport report;
  report.set_schema_version(1);
  report.mutable_ledger()->set_received(18446744073709551615u);
  *report.mutable_captured()->mutable_start_time() = TimestampMessage(-5);
  *report.mutable_captured()->mutable_end_time() = TimestampMessage(1'714'564'800'120'000'000);
  *report.mutable_extent()->mutable_end_time() = TimestampMessage(int64_t{0});
  for (const int64_t ns : {int64_t{0}, int64_t{-1}, int64_t{125'000}, int64_t{-2'500'000'000}}) {
    *report.mutable_clocks()->add_clocks()->mutable_offset() = DurationMessage(ns);
  }
  report.add_notes("a \"quoted\" \\ path\nwith a line end, \x01 and \xc3\xa9 < & >");
  v1::Connection& connection = *report.add_connections();
  connection.set_state(v1::Connection::STATE_PAIRED);
  connection.set_confidence(0.1);
  connection.mutable_a()->set_qpn(0xffffff);
  connection.mutable_a()->set_rank(-1);
  connection.add_candidates()->set_probability(1.0 / 3.0);
  report.add_flows()->set_dscp_changed(true);
  report.mutable_flows(0)->add_taps("leaf1");
  v1::Rank& rank = *report.add_jobs()->add_ranks();
  rank.add_queue_pairs()->add_candidate_peer_ranks(-7);
  rank.mutable_queue_pairs(0)->add_candidate_peer_ranks(8);
  return report;
}

TEST(AppendJson, AgreesWithProtobufOnEveryKindOfField) {
  const v1::ReplayReport report = Filled();
  for (const bool indented : {false, true}) {
    std::string json;
    AppendJson(report, indented, json);
    EXPECT_EQ(nlohmann::json::parse(json), Reference(report));
  }
}

TEST(AppendJson, PrintsEveryFieldOfAnEmptyReport) {
  std::string json;
  AppendJson(v1::ReplayReport{}, false, json);
  EXPECT_EQ(nlohmann::json::parse(json), Reference(v1::ReplayReport{}));
}

TEST(AppendJson, PrintsAnUnknownEnumeratorAsItsNumber) {
  v1::Connection connection;
  connection.set_state(static_cast<v1::Connection::State>(77));
  std::string json;
  AppendJson(connection, false, json);
  EXPECT_EQ(nlohmann::json::parse(json)["state"], 77);
}

}  // namespace
}  // namespace rocescope
