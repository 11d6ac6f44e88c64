// SPDX-License-Identifier: BSD-3-Clause

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "appliance/common/report/replay_report_fixture.h"
#include "rocescope/v1/report.pb.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

Json AsJson(const v1::ReplayReport& report) { return Json::parse(RenderJson(report)); }

TEST_F(ReplayReportTest, JsonHasTheDocumentedKeys) {
  const Json report = AsJson(Build());
  for (const char* key : {"ledger", "captured", "taps", "totals", "jobs", "connections", "flows",
                          "coverage", "notes"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  for (const char* key : {"received", "decoded", "filtered", "dropped"}) {
    EXPECT_TRUE(report["ledger"].contains(key)) << key;
  }
  const Json& edge = report["jobs"][0]["edges"][0];
  for (const char* key : {"source_rank", "destination_rank", "bytes", "messages", "source_qpns",
                          "destination_qpns", "confidence"}) {
    EXPECT_TRUE(edge.contains(key)) << key;
  }
}

TEST_F(ReplayReportTest, JsonPrintsNumbersOf64BitsAsText) {
  const Json report = AsJson(Build());
  EXPECT_EQ(report["jobs"][0]["edges"][0]["bytes"], "9007199254740993");
  EXPECT_EQ(report["flows"][0]["payload_bytes"], "9007199254740993");
  EXPECT_EQ(report["connections"][0]["a"]["qpn"], 37) << "24 bits are a number";
  EXPECT_EQ(report["flows"][0]["destination_qpn"], 38) << "32 bits are a number";
}

TEST_F(ReplayReportTest, JsonPrintsFieldsThatAreZeroOrEmpty) {
  const Json report = AsJson(Build());
  const Json& edge = report["jobs"][0]["edges"][0];
  EXPECT_EQ(edge["retransmitted_packets"], "0");
  EXPECT_EQ(edge["source_rank"], 0);
  EXPECT_EQ(report["flows"][0]["dscp_changed"], false);
  EXPECT_EQ(report["ledger"]["dropped"], Json::array());
  EXPECT_EQ(report["jobs"][0]["ranks"][1]["gpu_pci_address"], "");
}

TEST_F(ReplayReportTest, JsonIsValidForArbitraryBytes) {
  attribution_.jobs[0].job.ranks[0].host =
      "no\xc0"
      "de\x01\"\\";
  EXPECT_EQ(AsJson(Build())["jobs"][0]["ranks"][0]["host"],
            "no\xef\xbf\xbd"
            "de\x01\"\\");
}

TEST_F(ReplayReportTest, ARankWithoutAnAddressGetsThatOfItsQueuePairs) {
  attribution_.jobs[0].job.ranks[1].oob_address = *ParseIpAddress("192.168.0.2");
  EXPECT_THAT(Build().jobs(0).ranks(1).addresses(), testing::ElementsAre("10.0.0.2"));
  attribution_.endpoints = {{}};
  EXPECT_THAT(Build().jobs(0).ranks(1).addresses(), testing::ElementsAre("192.168.0.2"));
}

TEST_F(ReplayReportTest, EdgesNameTheQueuePairsOfBothEnds) {
  const v1::Edge& edge = Build().jobs(0).edges(0);
  EXPECT_THAT(edge.source_qpns(), testing::ElementsAre(37u));
  EXPECT_THAT(edge.destination_qpns(), testing::ElementsAre(38u));
  EXPECT_EQ(edge.confidence(), 0.5);
}

TEST_F(ReplayReportTest, FlowsComeLargestFirstAndConnectionsReferToThem) {
  std::swap(flows_[0], flows_[1]);
  std::sort(flows_.begin(), flows_.end(),
            [](const FlowSummary& a, const FlowSummary& b) { return b.flow < a.flow; });
  const v1::ReplayReport& report = Build();
  EXPECT_EQ(report.flows(0).destination_qpn(), 38u);
  const v1::Connection& connection = report.connections(0);
  EXPECT_EQ(connection.a_to_b().flow_id(), report.flows(0).id());
  EXPECT_EQ(connection.b_to_a().flow_id(), report.flows(1).id());
  EXPECT_EQ(connection.b_to_a().data_bytes(), 0u);
  EXPECT_EQ(connection.b_to_a().control_messages(), 3u);
}

TEST_F(ReplayReportTest, FlowsHaveOperationsSizesAndLosses) {
  const v1::ReplayReport& report = Build();
  const v1::Flow& flow = report.flows(0);
  EXPECT_EQ(flow.operations().write(), 10u);
  EXPECT_EQ(flow.naks().sequence_error(), 2u);
  EXPECT_EQ(flow.loss().missing_packets(), 4u);
  ASSERT_EQ(flow.message_sizes_size(), 2) << "bins that are not empty";
  EXPECT_EQ(flow.message_sizes(0).max_bytes(), 256u);
  EXPECT_FALSE(flow.message_sizes(1).has_max_bytes()) << "without bound";
  EXPECT_FALSE(flow.has_last_credit_code()) << "31 means that the receiver gives none";
  EXPECT_EQ(report.flows(1).last_credit_code(), 5);
  EXPECT_EQ(report.totals().missing_packets(), 4u);
  EXPECT_EQ(report.totals().nak_packets(), 2u);
  EXPECT_EQ(report.totals().paired_connection_count(), 1u);
}

TEST_F(ReplayReportTest, EndpointsHaveJobRankAndHost) {
  const v1::Connection& connection = Build().connections(0);
  EXPECT_EQ(connection.a().job_id(), "nccl-abc");
  EXPECT_EQ(connection.a().rank(), 0);
  EXPECT_EQ(connection.b().host(), "node1");
}

TEST_F(ReplayReportTest, RanksHaveSourceAndConfidence) {
  const v1::ReplayReport& report = Build();
  EXPECT_EQ(report.connections(0).a().rank_source(), v1::RANK_SOURCE_NCCL_LOG);
  EXPECT_DOUBLE_EQ(report.connections(0).a().rank_confidence(), 0.99);
  EXPECT_EQ(report.connections(0).b().rank_source(), v1::RANK_SOURCE_PEER);
  EXPECT_DOUBLE_EQ(report.connections(0).b().rank_confidence(), 0.75);
  const v1::RankQp& queue_pair = report.jobs(0).ranks(0).queue_pairs(0);
  EXPECT_EQ(queue_pair.peer_rank(), 1);
  EXPECT_EQ(queue_pair.peer_source(), v1::RANK_SOURCE_PEER);
  EXPECT_DOUBLE_EQ(queue_pair.peer_confidence(), 0.75);
}

// NCCL's log lists all devices of the host that it may use, identically for all ranks.
TEST_F(ReplayReportTest, ARanksOwnNicComesFirst) {
  JobRank& rank = attribution_.jobs[0].job.ranks[0];
  rank.devices = {{.name = "mlx5_0"}, {.name = "mlx5_1"}};
  rank.addresses = {*ParseIpAddress("10.1.0.1")};  // from generate.h: an address of the second NIC
  EXPECT_THAT(Build().jobs(0).ranks(0).nics(), testing::ElementsAre("mlx5_0", "mlx5_1"));
  fabric_ = std::make_shared<const topology::Fabric>(
      topology::Generate({.hosts = 1, .nics_per_host = 2, .leaves = 1, .spines = 1}).value());
  EXPECT_THAT(Build().jobs(0).ranks(0).nics(), testing::ElementsAre("mlx5_1", "mlx5_0"));
}

TEST_F(ReplayReportTest, ARanksQueuePairHasThePeerThatItsConnectionHas) {
  attribution_.jobs[0].job.ranks[0].queue_pairs[0].peer.peer_rank = 7;  // the order was wrong
  EXPECT_EQ(Build().jobs(0).ranks(0).queue_pairs(0).peer_rank(), 1);
}

TEST_F(ReplayReportTest, AQueuePairWithAContradictedPeerHasCandidatesOnly) {
  JobQueuePair& queue_pair = attribution_.jobs[0].job.ranks[0].queue_pairs[0];
  queue_pair.certainty = PeerCertainty::kOrdered;
  queue_pair.candidates = std::make_shared<const std::vector<JobPeer>>(
      std::vector<JobPeer>{{.own_rank = 0, .peer_rank = 1}, {.own_rank = 0, .peer_rank = 3}});
  attribution_.endpoints[0][1].reset();
  const v1::RankQp& row = Build().jobs(0).ranks(0).queue_pairs(0);
  EXPECT_FALSE(row.has_peer_rank());
  EXPECT_EQ(row.peer_source(), v1::RANK_SOURCE_UNSPECIFIED);
  EXPECT_THAT(row.candidate_peer_ranks(), testing::ElementsAre(1, 3));
}

TEST_F(ReplayReportTest, AConnectionCountsAReadsMessagesAsItsEdgeDoes) {
  FlowCounts& requests = flows_[0].total;
  requests.payload_bytes = 0;
  requests.class_packets = {};
  requests.class_packets[static_cast<size_t>(OperationClass::kReadRequest)] = 3;
  FlowCounts& responses = flows_[1].total;
  responses.payload_bytes = 12'288;
  responses.messages = responses.control_messages = responses.control_bytes = 0;
  const std::vector<std::vector<RankEdge>> edges =
      EdgesOf(1, connections_, attribution_.endpoints, flows_);
  const v1::Connection& connection = Build().connections(0);
  ASSERT_EQ(edges[0].size(), 1u);
  EXPECT_EQ(edges[0][0].source_rank, 1);
  EXPECT_EQ(edges[0][0].messages, 3u);
  EXPECT_EQ(connection.b_to_a().data_messages(), 3u);
  EXPECT_EQ(connection.b_to_a().data_bytes(), 12'288u);
  EXPECT_EQ(connection.a_to_b().data_messages(), 0u);
}

TEST_F(ReplayReportTest, AnUnknownEndIsNotRankZeroNorQueuePairZero) {
  attribution_.endpoints[0] = {};
  connections_[0].endpoints[1].qpn.reset();
  connections_[0].state = ConnectionState::kOneSided;
  const v1::Connection& connection = Build().connections(0);
  EXPECT_FALSE(connection.a().has_rank());
  EXPECT_FALSE(connection.b().has_rank());
  EXPECT_FALSE(connection.b().has_qpn());
  EXPECT_EQ(connection.a().job_id(), "");
}

TEST_F(ReplayReportTest, RanksListTheirQueuePairsFromLogsAndFromThePeer) {
  const v1::Job& job = Build().jobs(0);
  ASSERT_EQ(job.ranks(0).queue_pairs_size(), 1);
  EXPECT_EQ(job.ranks(0).queue_pairs(0).source(), v1::RANK_SOURCE_NCCL_LOG);
  EXPECT_TRUE(job.ranks(0).queue_pairs(0).seen());
  ASSERT_EQ(job.ranks(1).queue_pairs_size(), 1);
  EXPECT_EQ(job.ranks(1).queue_pairs(0).qpn(), 38u);
  EXPECT_EQ(job.ranks(1).queue_pairs(0).peer_rank(), 0);
  EXPECT_EQ(job.ranks(1).queue_pairs(0).source(), v1::RANK_SOURCE_CONNECTION);
}

TEST(EarliestOf, IsThatOfAllSources) {
  constexpr Timestamp kFrame = FromNanoseconds(1'714'564'800'000'000'000);
  EXPECT_EQ(EarliestOf(std::nullopt, std::nullopt), std::nullopt);
  EXPECT_EQ(EarliestOf(kFrame, std::nullopt), kFrame);
  EXPECT_EQ(EarliestOf(std::nullopt, kFrame), kFrame);
  EXPECT_EQ(EarliestOf(kFrame, kFrame + std::chrono::minutes(20)), kFrame);
  EXPECT_EQ(EarliestOf(kFrame, kFrame - std::chrono::minutes(20)),
            kFrame - std::chrono::minutes(20));
  EXPECT_EQ(EarliestOf(kFrame, Timestamp{}), kFrame) << "a clock that was not set";
}

}  // namespace
}  // namespace rocescope
