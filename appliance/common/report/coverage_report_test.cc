// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/coverage_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/arena.h>
#include <gtest/gtest.h>

#include <set>

#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

v1::Coverage CoverageOf(const ConnectionStatistics& connections) {
  const DataplaneTotals dataplane{.taps = {{.name = "leaf1"}}};
  const Snapshot snapshot{.connection_statistics = connections};
  v1::Coverage coverage;
  FillCoverage({.dataplane = dataplane, .snapshot = snapshot, .notes = {}}, coverage);
  return coverage;
}

std::string TextOf(const v1::Coverage& coverage) {
  std::string text;
  AppendCoverage(coverage, text);
  return text;
}

TEST(CoverageReport, ListsEveryCountOnceEvenIfZero) {
  std::set<std::string> names;
  const v1::Coverage coverage = CoverageOf({});
  for (const v1::CoverageCount& row : coverage.counts()) {
    EXPECT_TRUE(names.insert(row.name()).second) << row.name();
    EXPECT_EQ(row.count(), 0u) << row.name();
  }
  for (const char* name : {"flows.evicted",
                           "traffic.evicted",
                           "connections.flows_refused",
                           "connections.requests_evicted",
                           "connections.candidates_dropped",
                           "connections.grants_ambiguous",
                           "connections.closed_dropped",
                           "connections.flows_evicted",
                           "connections.flows_expired",
                           "connections.known_refused",
                           "connections.known_ambiguous",
                           "paths.flows_refused",
                           "paths.flows_evicted",
                           "paths.stretches_dropped",
                           "delays.impossible",
                           "delays.places_refused",
                           "losses.flows_refused",
                           "marks.flows_refused",
                           "marks.flows_evicted",
                           "queues.refused",
                           "counters.entities_refused",
                           "counters.series_refused",
                           "counters.unknown_entities",
                           "counters.told_twice",
                           "cabling.flows_refused",
                           "cabling.flows_evicted"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(CoverageReport, TextWithoutGapsIsEmpty) { EXPECT_EQ(TextOf(CoverageOf({})), ""); }

TEST(CoverageReport, TextNamesFullTables) {
  EXPECT_THAT(TextOf(CoverageOf({.flows_refused = 1234})),
              HasSubstr("1,234  packets and records were ignored"));
  EXPECT_THAT(TextOf(CoverageOf({.closed_dropped = 7})),
              HasSubstr("7  closed connections are not listed"));
}

TEST(CoverageReport, TextListsGapsOfPaths) {
  const DataplaneTotals dataplane;
  const Snapshot snapshot{.path_statistics = {.flows_refused = 5, .stretches_dropped = 1200}};
  v1::Coverage coverage;
  FillCoverage({.dataplane = dataplane, .snapshot = snapshot, .notes = {}}, coverage);
  EXPECT_THAT(TextOf(coverage), HasSubstr("5  records belong to flows without path tracking"));
  EXPECT_THAT(TextOf(coverage),
              HasSubstr("1,200  path segments of flows with very frequent path changes"));
}

TEST(CoverageReport, TextListsIgnoredRecords) {
  const DataplaneTotals dataplane;
  const Snapshot snapshot{
      .refused = {.losses = 3,
                  .marks = 4,
                  .queues = 5,
                  .delays = 6,
                  .metrics = {.unknown_entities = 7, .told_twice = 8, .entities_refused = 9}}};
  v1::Coverage coverage;
  FillCoverage({.dataplane = dataplane, .snapshot = snapshot, .notes = {}}, coverage);
  const std::string text = TextOf(coverage);
  for (const char* line :
       {"3  records of lost packets", "4  records of CE-marked packets", "5  INT reports",
        "6  packet delays",
        "7  counter values are for ports and devices that are not in the topology",
        "8  sFlow counter values", "9  counter values were ignored because there are too many"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

v1::Connection Paired() {
  v1::Connection connection;
  connection.set_state(v1::Connection::STATE_PAIRED);
  connection.set_confidence(0.75);
  return connection;
}

void AddPsnEcho(v1::Evidence::Direction direction, uint64_t count, v1::Connection& connection) {
  v1::Evidence& evidence = *connection.add_evidence();
  evidence.set_kind(v1::Evidence::KIND_PSN_ECHO);
  evidence.set_count(count);
  evidence.set_checked_count(9);
  evidence.set_direction(direction);
}

std::string TextOf(const v1::Connection& connection) {
  v1::ReplayReport report;
  report.mutable_ledger()->set_decoded(1);
  *report.add_connections() = connection;
  return RenderText(report);
}

TEST(ConnectionText, EchoesAreCountedByDirection) {
  v1::Connection connection = Paired();
  AddPsnEcho(v1::Evidence::DIRECTION_A_TO_B, 9, connection);
  AddPsnEcho(v1::Evidence::DIRECTION_B_TO_A, 7, connection);

  EXPECT_THAT(TextOf(connection), HasSubstr("psn_echo A>B 9/9, B>A 7/9"));
}

TEST(ConnectionText, ASingleCandidateIsAPossibleQueuePair) {
  v1::Connection connection;
  connection.set_state(v1::Connection::STATE_AMBIGUOUS);
  connection.add_candidates()->set_probability(0.42);

  EXPECT_THAT(TextOf(connection), HasSubstr("1 possible queue pair (0.42)"));
}

TEST(ConnectionReport, EvidenceNamesTheFlowThatCarriedTheEcho) {
  const IpAddress a = *ParseIpAddress("10.0.0.1");
  const IpAddress b = *ParseIpAddress("10.0.0.2");
  std::vector<FlowSummary> flows = {
      {.flow = {.source = a, .destination = b, .destination_qpn = Qpn{38}}},
      {.flow = {.source = b, .destination = a, .destination_qpn = Qpn{37}}}};
  flows[0].total.bytes = 2;  // the first value in the report
  Connection connection;
  connection.endpoints = {{{.address = a, .qpn = Qpn{37}}, {.address = b, .qpn = Qpn{38}}}};
  connection.state = ConnectionState::kPaired;
  connection.evidence = {{.kind = EvidenceKind::kPsnEcho, .count = 2, .of = 3, .echoed_by = 1}};
  const DataplaneTotals dataplane{.taps = {{.name = "leaf1"}}};
  Attribution attribution;
  attribution.endpoints.resize(1);
  const Snapshot snapshot{
      .flows = std::make_shared<const FlowSummaries>(flows),
      .connections = std::make_shared<const ConnectionList>(std::vector(1, connection)),
      .attribution = std::make_shared<const Attribution>(attribution)};
  google::protobuf::Arena arena;
  const v1::ReplayReport& report =
      BuildReplayReport({.dataplane = dataplane, .snapshot = snapshot, .notes = {}}, arena);

  const v1::Evidence& evidence = report.connections(0).evidence(0);
  EXPECT_EQ(evidence.direction(), v1::Evidence::DIRECTION_B_TO_A);
  EXPECT_EQ(evidence.flow_id(), 2u) << "the acknowledgements, from b to a";
}

}  // namespace
}  // namespace rocescope
