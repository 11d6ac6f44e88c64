// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/replay_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/arena.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

constexpr uint64_t kBeyondDoubles = 9'007'199'254'740'993;  // 2^53 + 1

FlowSummary Flow(const char* source, const char* destination, uint32_t qpn, uint64_t bytes) {
  FlowSummary flow{.flow = {.source = *ParseIpAddress(source),
                            .destination = *ParseIpAddress(destination),
                            .destination_qpn = Qpn{qpn}}};
  flow.total.packets = 10;
  flow.total.bytes = bytes;
  flow.total.payload_bytes = bytes / 2;
  flow.total.messages = 3;
  flow.streams = {{.tap = 0, .ttl = 64}};
  return flow;
}

// Rank 0 on node0 (QP 37) sends 2^53 octets to rank 1 on node1 (QP 38).
class ReplayReportTest : public testing::Test {
 protected:
  ReplayReportTest() {
    flows_ = {Flow("10.0.0.1", "10.0.0.2", 38, 2 * kBeyondDoubles),
              Flow("10.0.0.2", "10.0.0.1", 37, 400)};
    flows_[1].total.control_messages = 3;
    flows_[1].total.control_bytes = 200;
    flows_[1].total.last_credits = 5;
    flows_[0].total.naks[static_cast<size_t>(NakKind::kSequenceError)] = 2;
    flows_[0].total.unseen = 4;
    flows_[0].total.message_sizes[0] = 1;
    flows_[0].total.message_sizes[kMessageSizeBins - 1] = 2;
    flows_[0].total.class_packets[static_cast<size_t>(OperationClass::kWrite)] = 10;

    Connection connection;
    connection.endpoints[0] = {.address = *ParseIpAddress("10.0.0.1"), .qpn = Qpn{37}};
    connection.endpoints[1] = {.address = *ParseIpAddress("10.0.0.2"), .qpn = Qpn{38}};
    connection.state = ConnectionState::kPaired;
    connection.confidence = 0.75;
    connection.evidence = {{.kind = EvidenceKind::kPsnEcho, .count = 2, .of = 3}};
    connections_ = {connection};

    JobRank sender;
    sender.rank = 0;
    sender.host = "node0";
    sender.addresses = {*ParseIpAddress("10.0.0.1")};
    JobQueuePair queue_pair;
    queue_pair.local = Qpn{37};
    queue_pair.address = sender.addresses[0];
    queue_pair.peer = {.own_rank = 0, .peer_rank = 1};
    sender.queue_pairs = {queue_pair};
    JobRank receiver;
    receiver.rank = 1;
    receiver.host = "node1";
    RankEdge edge;
    edge.source_rank = 0;
    edge.destination_rank = 1;
    edge.bytes = kBeyondDoubles;
    edge.messages = 3;
    edge.source_qpns = {Qpn{37}};
    edge.destination_qpns = {Qpn{38}};
    edge.confidence = 0.5;
    Job job;
    job.id = "nccl-abc";
    job.rank_count = 2;
    job.ranks = {sender, receiver};
    job.ranks_seen = 2;
    attribution_.jobs = {{.job = job, .edges = {edge}}};
    attribution_.endpoints = {
        {RankClaim{.rank = 0, .member = 0, .confidence = 0.99},
         RankClaim{.rank = 1, .member = 1, .source = RankSource::kPeer, .confidence = 0.75}}};
  }

  const v1::ReplayReport& Build(std::vector<std::string> notes = {}) {
    const FrameProcessor processor({.captures = {"leaf1"}});
    const Snapshot snapshot{
        .flows = std::make_shared<const std::vector<FlowSummary>>(flows_),
        .connections = std::make_shared<const std::vector<Connection>>(connections_),
        .attribution = std::make_shared<const Attribution>(attribution_)};
    return BuildReplayReport({.processor = processor,
                              .snapshot = snapshot,
                              .extent = extent_,
                              .notes = std::move(notes)},
                             arena_);
  }
  Json AsJson() { return Json::parse(RenderJson(Build())); }

  std::vector<FlowSummary> flows_;
  std::vector<Connection> connections_;
  Attribution attribution_;
  CaptureExtent extent_;
  google::protobuf::Arena arena_;
};

TEST_F(ReplayReportTest, JsonHasTheKeysThatOthersBuildOn) {
  const Json report = AsJson();
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
  const Json report = AsJson();
  EXPECT_EQ(report["jobs"][0]["edges"][0]["bytes"], "9007199254740993");
  EXPECT_EQ(report["flows"][0]["payload_bytes"], "9007199254740993");
  EXPECT_EQ(report["connections"][0]["a"]["qpn"], 37) << "24 bits are a number";
  EXPECT_EQ(report["flows"][0]["destination_qpn"], 38) << "32 bits are a number";
}

TEST_F(ReplayReportTest, JsonPrintsFieldsThatAreZeroOrEmpty) {
  const Json report = AsJson();
  const Json& edge = report["jobs"][0]["edges"][0];
  EXPECT_EQ(edge["resent"], "0");
  EXPECT_EQ(edge["source_rank"], 0);
  EXPECT_EQ(report["flows"][0]["dscp_changed"], false);
  EXPECT_EQ(report["ledger"]["dropped"], Json::array());
  EXPECT_EQ(report["jobs"][0]["ranks"][1]["gpu_bus_id"], "");
}

TEST_F(ReplayReportTest, JsonStaysValidWhateverOctetsALogHolds) {
  attribution_.jobs[0].job.ranks[0].host =
      "no\xc0"
      "de\x01\"\\";
  EXPECT_EQ(AsJson()["jobs"][0]["ranks"][0]["host"],
            "no\xef\xbf\xbd"
            "de\x01\"\\");
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

TEST_F(ReplayReportTest, FlowsTellOperationsSizesAndTrouble) {
  const v1::ReplayReport& report = Build();
  const v1::Flow& flow = report.flows(0);
  EXPECT_EQ(flow.operations().write(), 10u);
  EXPECT_EQ(flow.naks().sequence_error(), 2u);
  EXPECT_EQ(flow.loss().unseen(), 4u);
  ASSERT_EQ(flow.message_sizes_size(), 2) << "bins that are not empty";
  EXPECT_EQ(flow.message_sizes(0).at_most(), 256u);
  EXPECT_EQ(flow.message_sizes(1).at_most(), 0u) << "without bound";
  EXPECT_EQ(flow.last_credits(), -1) << "31 means that the receiver gives none";
  EXPECT_EQ(report.flows(1).last_credits(), 5);
  EXPECT_EQ(report.totals().unseen(), 4u);
  EXPECT_EQ(report.totals().naks(), 2u);
  EXPECT_EQ(report.totals().connections_paired(), 1u);
}

TEST_F(ReplayReportTest, EndpointsTellJobRankAndHost) {
  const v1::Connection& connection = Build().connections(0);
  EXPECT_EQ(connection.a().job(), "nccl-abc");
  EXPECT_EQ(connection.a().rank(), 0);
  EXPECT_EQ(connection.b().host(), "node1");
}

TEST_F(ReplayReportTest, RanksComeWithTheirSourceAndHowSureTheyAre) {
  const v1::ReplayReport& report = Build();
  EXPECT_EQ(report.connections(0).a().rank_source(), "nccl_log");
  EXPECT_DOUBLE_EQ(report.connections(0).a().rank_confidence(), 0.99);
  EXPECT_EQ(report.connections(0).b().rank_source(), "peer");
  EXPECT_DOUBLE_EQ(report.connections(0).b().rank_confidence(), 0.75);
  const v1::RankQp& queue_pair = report.jobs(0).ranks(0).queue_pairs(0);
  EXPECT_EQ(queue_pair.peer_rank(), 1);
  EXPECT_EQ(queue_pair.peer_source(), "peer");
  EXPECT_DOUBLE_EQ(queue_pair.peer_confidence(), 0.75);
}

TEST_F(ReplayReportTest, ARanksQueuePairHasThePeerThatItsConnectionHas) {
  attribution_.jobs[0].job.ranks[0].queue_pairs[0].peer.peer_rank = 7;  // the order misled
  EXPECT_EQ(Build().jobs(0).ranks(0).queue_pairs(0).peer_rank(), 1);
}

TEST_F(ReplayReportTest, AQueuePairWhosePeerTheAddressContradictsHasCandidatesAlone) {
  JobQueuePair& queue_pair = attribution_.jobs[0].job.ranks[0].queue_pairs[0];
  queue_pair.certainty = PeerCertainty::kOrdered;
  queue_pair.candidates = std::make_shared<const std::vector<JobPeer>>(
      std::vector<JobPeer>{{.own_rank = 0, .peer_rank = 1}, {.own_rank = 0, .peer_rank = 3}});
  attribution_.endpoints[0][1].reset();
  const v1::RankQp& row = Build().jobs(0).ranks(0).queue_pairs(0);
  EXPECT_EQ(row.peer_rank(), -1);
  EXPECT_EQ(row.peer_source(), "");
  EXPECT_THAT(row.candidate_peer_ranks(), testing::ElementsAre(1, 3));
}

TEST_F(ReplayReportTest, AProcessWithoutARankGoesByItsName) {
  JobRank& receiver = attribution_.jobs[0].job.ranks[1];
  receiver.rank = -1;
  receiver.process_id = 300;
  attribution_.jobs[0].job.ranks_seen = 1;
  attribution_.jobs[0].edges[0].destination_rank = -1;
  attribution_.jobs[0].edges[0].destination_member = 1;
  attribution_.endpoints[0][1]->rank = -1;
  const v1::ReplayReport& report = Build();
  EXPECT_EQ(report.jobs(0).seen_ranks(), 1u);
  EXPECT_EQ(report.jobs(0).edges(0).destination_rank(), -1);
  EXPECT_EQ(report.jobs(0).edges(0).destination_process(), "node1:300");
  EXPECT_EQ(report.jobs(0).ranks(0).queue_pairs(0).peer_process(), "node1:300");
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("JOB nccl-abc: 1 of 2 ranks known, and 1 process without a rank;"));
  EXPECT_THAT(text, HasSubstr("37 (node1:300)"));
  EXPECT_THAT(text, HasSubstr("     0  node1:300  9,007,199,254,740,993"));
}

// What a READ fetches travels from the one who is asked, and is counted there.
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
  EXPECT_EQ(connection.a().rank(), -1);
  EXPECT_EQ(connection.b().rank(), -1);
  EXPECT_EQ(connection.b().qpn(), -1);
  EXPECT_EQ(connection.a().job(), "");
}

TEST_F(ReplayReportTest, RanksListTheirQueuePairsFromLogsAndFromThePeer) {
  const v1::Job& job = Build().jobs(0);
  ASSERT_EQ(job.ranks(0).queue_pairs_size(), 1);
  EXPECT_EQ(job.ranks(0).queue_pairs(0).source(), "nccl_log");
  EXPECT_TRUE(job.ranks(0).queue_pairs(0).seen());
  ASSERT_EQ(job.ranks(1).queue_pairs_size(), 1);
  EXPECT_EQ(job.ranks(1).queue_pairs(0).qpn(), 38u);
  EXPECT_EQ(job.ranks(1).queue_pairs(0).peer_rank(), 0);
  EXPECT_EQ(job.ranks(1).queue_pairs(0).source(), "connection");
}

TEST_F(ReplayReportTest, TextOfNoTrafficSaysSoAndKeepsTheJobAndTheNotes) {
  flows_.clear();
  connections_.clear();
  attribution_.endpoints.clear();
  const std::string text = RenderText(Build({"a.log:3: expected a rank"}));
  EXPECT_THAT(text, HasSubstr("No RoCE in this capture"));
  EXPECT_THAT(text, HasSubstr("JOB nccl-abc: 2 of 2 ranks known"));
  EXPECT_THAT(text, HasSubstr("0 received = 0 decoded + 0 filtered + 0 dropped"));
  EXPECT_THAT(text, HasSubstr("a.log:3: expected a rank"));
}

TEST_F(ReplayReportTest, TextNeverSaysMoreCertaintyThanThereIs) {
  attribution_.jobs[0].edges[0].confidence = 0.998;
  EXPECT_THAT(RenderText(Build()), HasSubstr("0.99\n"));
  attribution_.jobs[0].edges[0].confidence = 0.29;  // of which a double falls short
  EXPECT_THAT(RenderText(Build()), HasSubstr("0.29\n"));
}

TEST_F(ReplayReportTest, TextPutsTheJobBeforeConnectionsFlowsAndLedger) {
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_received(20);
  report.mutable_ledger()->set_decoded(20);
  const std::string text = RenderText(report);
  size_t last = 0;
  for (const char* heading :
       {"JOB ", "TROUBLE", "CONNECTIONS: 1 paired", "FLOWS: 2 flows", "LEDGER: 20 received"}) {
    const size_t at = text.find(heading);
    ASSERT_NE(at, std::string::npos) << heading;
    EXPECT_GE(at, last) << heading;
    last = at;
  }
  EXPECT_THAT(text, HasSubstr("9,007,199,254,740,993"));
}

TEST_F(ReplayReportTest, TroubleNamesTheFlowThatAloneHasIt) {
  flows_[0].total.ce_marked = 3;
  flows_[1].total.ce_marked = 2;
  flows_[1].total.reordered = 1;
  flows_[1].total.class_packets[static_cast<size_t>(OperationClass::kCnp)] = 1;
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(20);
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("2  NAKs: 10.0.0.1 > 10.0.0.2 qp 38\n"));
  EXPECT_THAT(text, testing::ContainsRegex("4  packets unseen .*: 10.0.0.1 > 10.0.0.2 qp 38\n"));
  EXPECT_THAT(text, testing::ContainsRegex("5  packets marked CE .*, on 2 flows\n"));
  EXPECT_THAT(text, testing::ContainsRegex("1  packet came late .*: 10.0.0.2 > 10.0.0.1 qp 37\n"));
  EXPECT_THAT(text, testing::ContainsRegex("1  CNP .*: 10.0.0.2 > 10.0.0.1 qp 37\n"));
}

TEST_F(ReplayReportTest, TextTellsCopiesFromPackets) {
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(43);
  report.mutable_totals()->set_pause_frames(3);
  report.add_taps()->set_frames(23);
  report.mutable_taps(0)->set_frames(20);
  report.mutable_captured()->set_start_ns(1'714'564'800'000'000'000);
  report.mutable_captured()->set_end_ns(1'714'564'804'500'000'000);
  EXPECT_THAT(RenderText(report),
              testing::StartsWith("20 packets, seen 40 times in 2 captures, and 3 PAUSE or PFC "
                                  "frames, from 2024-05-01 12:00:00.000 to 12:00:04.500 UTC "
                                  "(4.50 s)\n"));
}

TEST_F(ReplayReportTest, TextSaysThatTheFiltersLeftNothing) {
  flows_.clear();
  connections_.clear();
  attribution_ = {};
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_received(5);
  report.mutable_ledger()->set_filtered(4);
  report.mutable_extent()->set_start_ns(1'714'564'800'000'000'000);
  report.mutable_extent()->set_end_ns(1'714'651'200'000'000'000);
  EXPECT_THAT(RenderText(report),
              testing::StartsWith("No frame passed the filters; the capture spans 2024-05-01 "
                                  "12:00:00.000 to 2024-05-02 12:00:00.000 UTC.\n"));
}

TEST_F(ReplayReportTest, TextTellsOtherTrafficFromBrokenFrames) {
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_received(20);
  for (const auto& [reason, frames] : {std::pair("not_roce", 18), std::pair("bad_ip", 2)}) {
    v1::DropCount& row = *report.mutable_ledger()->add_dropped();
    row.set_reason(reason);
    row.set_frames(static_cast<uint64_t>(frames));
  }
  EXPECT_THAT(RenderText(report),
              HasSubstr("20 received = 0 decoded + 0 filtered + 18 other traffic, not RoCE + 2 "
                        "dropped\n\n  DROPPED  REASON"));
}

TEST_F(ReplayReportTest, SaysThatFramesWereCutTooShort) {
  extent_ = {.frames = 100, .cut_frames = 60, .cut_at = 64};
  EXPECT_THAT(Build().notes(), testing::ElementsAre(testing::StartsWith(
                                   "60 of 100 frames were cut at 64 octets: capture at least 96")));
  extent_.cut_at = 96;
  EXPECT_THAT(Build().notes(), testing::IsEmpty());
}

TEST_F(ReplayReportTest, ASingleCandidateIsAPossibility) {
  connections_[0].state = ConnectionState::kAmbiguous;
  connections_[0].candidates = {{.qpn = Qpn{37}, .posterior = 0.429}};
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(20);
  EXPECT_THAT(RenderText(report), HasSubstr("1 possible queue pair (0.42)"));
}

TEST_F(ReplayReportTest, DatagramsHaveNoConnectionsToFind) {
  connections_.clear();
  attribution_ = {};
  for (FlowSummary& flow : flows_) {
    flow.total.class_packets = {};
    flow.total.class_packets[static_cast<size_t>(OperationClass::kDatagram)] = flow.total.packets;
  }
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(20);
  EXPECT_THAT(RenderText(report), HasSubstr("CONNECTIONS: none to find: datagrams (UD)"));
}

TEST_F(ReplayReportTest, TextShowsAScreenAndSaysHowMuchMoreThereIs) {
  for (uint32_t n = 0; n < 30; ++n) {
    flows_.push_back(Flow("10.0.1.1", "10.0.1.2", 1000 + n, 100 - n));
  }
  std::sort(flows_.begin(), flows_.end(),
            [](const FlowSummary& a, const FlowSummary& b) { return a.flow < b.flow; });
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(1);
  const std::string text = RenderText(report);
  EXPECT_THAT(text, testing::ContainsRegex("and 12 .*more")) << "32 less the 20 shown";
  EXPECT_THAT(text, HasSubstr(" 1017 "));
  EXPECT_THAT(text, Not(HasSubstr(" 1018 ")));
}

}  // namespace
}  // namespace rocescope
