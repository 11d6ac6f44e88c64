// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/telemetry_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "appliance/common/report/fitted_text.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

class TelemetryReportTest : public testing::Test {
 protected:
  TelemetryReportTest() {
    dataplane_.taps = {{.name = "int"}, {.name = "sflow", .capture = 1}};
    TelemetryCounters& counters = dataplane_.counters.telemetry;
    counters.int_reports = {.received = 1500, .decoded = 1400, .filtered = 90};
    counters.int_reports.dropped[static_cast<size_t>(DropReason::kBadInt)] = 10;
    counters.hop_records = 1400;
    counters.samples = {.received = 3, .decoded = 3};
    counters.sample_records = 2;
    counters.counter_records = 9;
    dataplane_.telemetry = {
        {.tap = 0, .node_id = 7, .hardware_id = 1, .datagrams = 1500, .lost = 4},
        {.tap = 0, .node_id = 8, .datagrams = 10, .lost = 1},
        {.is_sflow = true, .tap = 1, .agent = *ParseIpAddress("192.0.2.7"), .datagrams = 2}};
  }
  v1::ReplayReport Report() {
    v1::ReplayReport report;
    FillTelemetry({.dataplane = dataplane_,
                   .snapshot = snapshot_,
                   .counters = {.lines = {.received = 5, .decoded = 5}, .records = 20}},
                  *report.mutable_telemetry());
    return report;
  }

  DataplaneTotals dataplane_;
  Snapshot snapshot_;
};

TEST_F(TelemetryReportTest, HasALedgerOfEachUnit) {
  const v1::ReplayReport report = Report();
  const v1::Telemetry& telemetry = report.telemetry();
  EXPECT_EQ(telemetry.int_report_ledger().received(), 1500u);
  ASSERT_EQ(telemetry.int_report_ledger().dropped_size(), 1);
  EXPECT_EQ(telemetry.int_report_ledger().dropped(0).reason(), "bad_int");
  EXPECT_EQ(telemetry.int_report_ledger().dropped(0).count(), 10u);
  EXPECT_EQ(telemetry.sflow_sample_ledger().decoded(), 3u);
  EXPECT_EQ(telemetry.counter_line_ledger().received(), 5u);
  EXPECT_EQ(telemetry.counter_records(), 29u) << "sFlow's and those of the file";
}

TEST_F(TelemetryReportTest, NamesEverySender) {
  const v1::ReplayReport report = Report();
  ASSERT_EQ(report.telemetry().sources_size(), 3);
  const v1::TelemetrySource& node = report.telemetry().sources(0);
  EXPECT_EQ(node.kind(), v1::TelemetrySource::KIND_INT);
  EXPECT_EQ(node.tap(), "int");
  EXPECT_EQ(node.node_id(), 7u);
  EXPECT_EQ(node.hardware_id(), 1u);
  EXPECT_EQ(node.lost_datagrams(), 4u);
  EXPECT_EQ(report.telemetry().sources(2).agent_address(), "192.0.2.7");
}

TEST_F(TelemetryReportTest, TextHasARowForEachUnit) {
  std::string text;
  AppendTelemetry(Report(), text);
  text = FitText(text, kNoWidth);
  EXPECT_THAT(text,
              HasSubstr("TELEMETRY: 1,400 hop records from 2 INT senders, 2 sampled packets from 1 "
                        "sFlow agent, 29 counter values\n"));
  EXPECT_THAT(text, testing::ContainsRegex("1,500 +1,400 +90 +10 +INT reports +10 bad_int"));
  EXPECT_THAT(text, testing::ContainsRegex("5 +5 +counter lines"));
  EXPECT_THAT(text, testing::Not(HasSubstr("sFlow datagrams")));
  EXPECT_THAT(text,
              HasSubstr("5  datagrams of 2 INT senders lost (gaps in their sequence numbers)\n"));
}

TEST_F(TelemetryReportTest, TextIsEmptyWithoutTelemetry) {
  std::string text;
  AppendTelemetry(v1::ReplayReport(), text);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace rocescope
