// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "topology/generate.h"

namespace rocescope {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

auto Is(const char* kind, const char* place) {
  return AllOf(Field("kind", &Problem::kind, kind), Field("place", &Problem::place, place),
               Field("recommended_action", &Problem::recommended_action, Not(IsEmpty())));
}

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    input_.started = Timestamp(seconds(1000));
    input_.now = Timestamp(seconds(1100));
    const auto generated = topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value();
    answer_.fabric = std::make_shared<const topology::Fabric>(generated);
    answer_.flows = std::make_shared<const FlowSummaries>();
  }

  // Returns a source that has received this many frames, the last one now.
  SourceState& AddSource(SourceKind kind, uint64_t received, uint64_t decoded) {
    SourceState& source = input_.sources.emplace_back(SourceState{.name = "mirror", .kind = kind});
    Ledger& ledger = source.statistics.frames.ledger;
    ledger.received = received;
    ledger.decoded = decoded;
    ledger.dropped[static_cast<size_t>(DropReason::kNotRoce)] = received - decoded;
    source.statistics.received_any = received > 0;
    source.statistics.last_arrival = input_.now;
    return source;
  }
  std::vector<Problem> WithAnswer() {
    input_.answer = &answer_;
    return Doctor(input_);
  }

  DoctorInput input_;
  Snapshot answer_;
};

TEST_F(DoctorTest, FindsNothingWithHealthyTelemetry) {
  AddSource(SourceKind::kDpdk, 10'000, 9'000);
  input_.senders.mirrors = {{.frames = 9'000, .has_sequence = true}};
  EXPECT_THAT(WithAnswer(), IsEmpty());
}

TEST_F(DoctorTest, NamesSomeLinksThatAreDownSinceTheStart) {
  answer_.links_never_up = {1};
  auto problems = WithAnswer();
  ASSERT_THAT(problems, ElementsAre(Is("links_down_since_start", "links")));
  EXPECT_EQ(problems[0].sentence,
            "1 link has been down since the start: " + answer_.fabric->NameOfLink(1));
  answer_.links_never_up = {0, 1, 2, 4};
  problems = WithAnswer();
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0].sentence, AllOf(HasSubstr("4 links have been down since the start: "),
                                          HasSubstr(answer_.fabric->NameOfLink(2) + ", and others"),
                                          Not(HasSubstr(answer_.fabric->NameOfLink(4)))));
}

TEST_F(DoctorTest, FindsNothingWithAHealthyHistory) {
  input_.history = {.file = "history.db"};
  EXPECT_THAT(Doctor(input_), IsEmpty());
}

TEST_F(DoctorTest, ReportsAHistoryThatIsNotWritten) {
  input_.history = {.file = "history.db", .counts = {.problem = "disk full"}};
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("history_not_written", "history.db")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("disk full"));
}

TEST_F(DoctorTest, ReportsSuspendedRetention) {
  input_.history = {.file = "history.db",
                    .counts = {.retention = {.is_suspended = true,
                                             .clock = Timestamp(seconds(2'000'000'000)),
                                             .expected = Timestamp(seconds(1'700'000'000)),
                                             .remaining = std::chrono::hours(71)}}};
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("history_retention_suspended", "history.db")));
  EXPECT_THAT(problems[0].sentence,
              AllOf(HasSubstr("the clock (2033-05-18"), HasSubstr("3472 days ahead of")));
  EXPECT_THAT(problems[0].recommended_action, HasSubstr("71 more hours"));
}

TEST_F(DoctorTest, ReportsHistoryRowsInTheFuture) {
  input_.history = {
      .file = "history.db",
      .counts = {
          .retention = {.future = {.rows = 3000, .newest = Timestamp(seconds(2'000'000'000))}}}};
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("history_rows_in_future", "history.db")));
  EXPECT_THAT(problems[0].sentence, AllOf(HasSubstr("3,000"), HasSubstr("2033-05-18")));
}

TEST_F(DoctorTest, SourceThatNeverReceivedIsSilentAfterPatience) {
  AddSource(SourceKind::kUdp, 0, 0);
  EXPECT_THAT(Doctor(input_), ElementsAre(Is("silent_source", "mirror")));
  input_.now = input_.started + seconds(5);
  EXPECT_THAT(Doctor(input_), IsEmpty()) << "too early to judge";
}

TEST_F(DoctorTest, SourceThatStoppedReceivingIsSilent) {
  AddSource(SourceKind::kUdp, 5, 5).statistics.last_arrival = input_.now - seconds(40);
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("silent_source", "mirror")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("for 40 s"));
}

TEST_F(DoctorTest, ReportsInvalidDatagrams) {
  AddSource(SourceKind::kUdp, 50'000, 10);
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("no_roce", "mirror")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("of 50,000 datagrams 10 are valid"));
}

TEST_F(DoctorTest, ReportsFramesWithoutRoce) {
  AddSource(SourceKind::kDpdk, 50'000, 10);
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("no_roce", "mirror")));
  EXPECT_THAT(problems[0].sentence, AllOf(HasSubstr("50,000"), HasSubstr("not_roce")));
}

TEST_F(DoctorTest, ReportsLostFramesAndRecords) {
  SourceState& source = AddSource(SourceKind::kInterface, 100'000, 100'000);
  source.statistics.missed = 90;
  source.statistics.records = 100'000;
  source.statistics.records_dropped = 90;
  EXPECT_THAT(Doctor(input_), IsEmpty()) << "less than 0.1 %";
  source.statistics.missed = 200;
  source.statistics.records_dropped = 200;
  EXPECT_THAT(Doctor(input_),
              ElementsAre(Is("frames_lost", "mirror"), Is("records_dropped", "mirror")));
}

TEST_F(DoctorTest, NumberOfFurtherProblemsIsAtTheirKind) {
  constexpr uint64_t kFew = 3;
  constexpr uint64_t kMany = 7;
  for (uint64_t i = 0; i < kMany; ++i) {
    SourceStatistics& counted = AddSource(SourceKind::kInterface, 100'000, 100'000).statistics;
    counted.missed = 200;
    if (i >= kFew) continue;
    counted.records = 100'000;
    counted.records_dropped = 200;
  }
  std::vector<std::string> more;
  for (const Problem& complaint : Doctor(input_)) {
    if (complaint.sentence.ends_with(" (and 2 more)")) more.push_back(complaint.kind);
    EXPECT_EQ(complaint.sentence.find("more)"), complaint.sentence.rfind("more)"));
  }
  EXPECT_THAT(more, ElementsAre("frames_lost"));
}

TEST_F(DoctorTest, TwoKindsEachHaveANumberOfFurtherProblems) {
  for (int i = 0; i < 8; ++i) {
    SourceStatistics& counted = AddSource(SourceKind::kInterface, 100'000, 100'000).statistics;
    counted.missed = 200;
    counted.records = i < 6 ? 100'000 : 0;
    counted.records_dropped = i < 6 ? 200 : 0;
  }
  std::vector<std::string> more;
  for (const Problem& complaint : Doctor(input_)) {
    const size_t at = complaint.sentence.find(" (and ");
    if (at != std::string::npos) more.push_back(complaint.kind + complaint.sentence.substr(at));
  }
  EXPECT_THAT(more,
              UnorderedElementsAre("frames_lost (and 3 more)", "records_dropped (and 1 more)"));
}

TEST_F(DoctorTest, StoppedSourceIsNotAlsoSilent) {
  AddSource(SourceKind::kInterface, 0, 0).error = "the interface is down";
  EXPECT_THAT(Doctor(input_), ElementsAre(Is("source_ended", "mirror")));
}

TEST_F(DoctorTest, ReportsConstantSequenceNumbers) {
  input_.senders.mirrors = {{.source = IpAddress::FromV4(0xc0000201),
                             .session = 3,
                             .frames = 100,
                             .repeats = 99,
                             .has_sequence = true,
                             .next_sequence = 1}};
  input_.senders.telemetry = {
      {.is_sflow = true, .agent = IpAddress::FromV4(0xc0000202), .datagrams = 60, .repeats = 59},
      {.node_id = 7, .datagrams = 20, .repeats = 19}};
  EXPECT_THAT(Doctor(input_), ElementsAre(Is("constant_sequence", "192.0.2.1 session 3"),
                                          Is("constant_sequence", "sFlow agent 192.0.2.2")))
      << "20 are too few to judge";
}

TEST_F(DoctorTest, ReportsUnknownSendersOfTheLastMinutes) {
  const IpAddress stranger = IpAddress::FromV4(0xc6336409);
  input_.senders.refused = {
      {.is_sflow = true,
       .source = stranger,
       .agent = IpAddress::FromV4(0xc0000201),
       .datagrams = 12'000,
       .last_received = input_.now - std::chrono::minutes(1)},
      {.source = stranger, .node_id = 7, .last_received = input_.now - std::chrono::minutes(11)}};
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("unknown_sender", "198.51.100.9 (sFlow agent 192.0.2.1)")));
  EXPECT_THAT(problems[0].recommended_action, testing::HasSubstr("`udp.senders`"));
}

TEST_F(DoctorTest, ReportsExportersThatReportForOtherNodes) {
  const std::string url = "http://host0:9400/metrics";
  ForeignNodes target{.url = url, .node = "host0"};
  for (const char* name : {"spine0", "leaf0", "leaf1", "leaf2", "leaf3"}) {
    target.Add(name, input_.now - std::chrono::minutes(9));
  }
  AddSource(SourceKind::kScrape, 10, 5).foreign = {target};
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("foreign_node", url.c_str())));
  EXPECT_EQ(problems[0].sentence,
            "the exporter may report only for host0, but also reports for leaf0, leaf1, leaf2, "
            "spine0, and others: the appliance dropped 5 samples");
  EXPECT_THAT(problems[0].recommended_action, HasSubstr("remove `node` from its entry"));
  input_.sources[0].foreign[0].last_received = input_.now - std::chrono::minutes(11);
  EXPECT_THAT(Doctor(input_), IsEmpty());
}

TEST_F(DoctorTest, ReportsNicThatConsumesRoce) {
  const auto sys =
      std::filesystem::temp_directory_path() / ("rocescope-doctor-" + std::to_string(getpid()));
  std::filesystem::create_directories(sys / "class/net/mirror/device/infiniband/mlx5_0");
  input_.sys = sys;
  SourceState& source = AddSource(SourceKind::kInterface, 50'000, 10);
  EXPECT_THAT(Doctor(input_), ElementsAre(Is("rdma_nic_consumes_roce", "mirror")));
  source.name = "eth1";  // a NIC without RDMA
  EXPECT_THAT(Doctor(input_), ElementsAre(Is("no_roce", "eth1")));
  std::filesystem::remove_all(sys);
}

// Fixture: two leaves with a declared session 3 and with sFlow agents.
class SessionsTest : public DoctorTest {
 protected:
  static constexpr IpAddress kLeaf0 = IpAddress::FromV4(0xc000'0201);
  static constexpr IpAddress kLeaf1 = IpAddress::FromV4(0xc000'0202);

  SessionsTest() {
    topology::Fabric::Parts parts = answer_.fabric->parts();
    parts.taps.clear();
    for (topology::Node& node : parts.nodes) node.sflow_agent = IpAddress();
    for (const auto& [name, address] : {std::pair("leaf0", kLeaf0), std::pair("leaf1", kLeaf1)}) {
      const topology::NodeIndex node = answer_.fabric->FindNode(name);
      parts.nodes[node].erspan_source = parts.nodes[node].sflow_agent = address;
      parts.taps.push_back(
          {.node = node, .session = 3, .ports = {answer_.fabric->node(node).first_port}});
    }
    answer_.fabric =
        std::make_shared<const topology::Fabric>(topology::Fabric::Make(std::move(parts)).value());
  }

  void ReceiveMirror(const IpAddress& from, uint16_t session, seconds ago) {
    input_.senders.mirrors.push_back({.source = from,
                                      .session = session,
                                      .kind = MirrorKind::kErspan3,
                                      .frames = 10,
                                      .last_received = input_.now - ago});
  }
  void ReceiveAgent(const IpAddress& agent, seconds ago) {
    input_.senders.telemetry.push_back(
        {.is_sflow = true, .agent = agent, .datagrams = 10, .last_received = input_.now - ago});
  }
};

TEST_F(SessionsTest, FindsNothingIfAllSendersAreHeard) {
  for (const IpAddress& leaf : {kLeaf0, kLeaf1}) {
    ReceiveMirror(leaf, 3, seconds(1));
    ReceiveAgent(leaf, seconds(25));
  }
  EXPECT_THAT(WithAnswer(), IsEmpty());
}

TEST_F(SessionsTest, ReportsUndeclaredSession) {
  ReceiveMirror(kLeaf0, 3, seconds(1));
  ReceiveMirror(kLeaf1, 3, seconds(1));
  ReceiveMirror(kLeaf1, 4, seconds(1));
  ReceiveMirror(IpAddress::FromV4(0xc000'0209), 5, seconds(1));  // not a switch of the topology
  EXPECT_THAT(WithAnswer(), ElementsAre(Is("unknown_session", "leaf1 session 4")));
}

TEST_F(SessionsTest, SenderThatNeverSentIsSilentAfterPatience) {
  ReceiveMirror(kLeaf0, 3, seconds(1));
  ReceiveAgent(kLeaf1, seconds(1));
  const auto problems = WithAnswer();
  ASSERT_THAT(problems, ElementsAre(Is("silent_session", "leaf1 session 3"),
                                    Is("silent_session", "leaf0 sFlow agent 192.0.2.1")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("nothing received since start (100 s ago)"));
  input_.started = input_.now - seconds(10);
  EXPECT_THAT(WithAnswer(), IsEmpty()) << "too early to judge";
}

TEST_F(SessionsTest, ReportsSenderThatStopped) {
  ReceiveMirror(kLeaf0, 3, seconds(1));
  ReceiveMirror(kLeaf1, 3, seconds(40));
  const auto problems = WithAnswer();
  ASSERT_THAT(problems, ElementsAre(Is("silent_session", "leaf1 session 3")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("for 40 s"));
}

TEST_F(SessionsTest, NoSenderIsReportedIfAllAreSilent) {
  ReceiveMirror(kLeaf0, 3, seconds(50));
  ReceiveAgent(kLeaf0, seconds(50));
  EXPECT_THAT(WithAnswer(), IsEmpty()) << "the source is silent instead";
}

// Agents send a heartbeat every second; an idle host has no data to report.
TEST_F(DoctorTest, IdleAgentsAreNoProblem) {
  SourceState& source = AddSource(SourceKind::kAgents, 10, 10);
  source.statistics.last_arrival = input_.now - std::chrono::minutes(5);
  input_.started = input_.now - std::chrono::minutes(10);
  EXPECT_THAT(Doctor(input_), IsEmpty());
  source.kind = SourceKind::kUdp;
  EXPECT_THAT(Doctor(input_), ElementsAre(Is("silent_source", source.name.c_str())));
}

TEST_F(DoctorTest, ReportsHostClockOffset) {
  using std::chrono::milliseconds;
  SourceState& source = AddSource(SourceKind::kAgents, 10, 10);
  source.agents = {{.host = "near",
                    .connected = true,
                    .clock_ahead = milliseconds(5),
                    .clock_error = milliseconds(6)},
                   {.host = "far",
                    .connected = true,
                    .clock_ahead = milliseconds(-70),
                    .clock_error = milliseconds(6)},
                   {.host = "gone", .clock_ahead = milliseconds(70)}};
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("host_clock_apart", "far")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("0.070 s ahead of the clock of the appliance"));
}

TEST_F(DoctorTest, ReportsAgentsThatLostBatchesRecently) {
  SourceState& source = AddSource(SourceKind::kAgents, 10, 10);
  source.agents = {{.host = "healthy"},
                   {.host = "recent",
                    .lost_batches = 82,
                    .lost_bytes = 20'000'000,
                    .lost_at = input_.now - seconds(600)},
                   {.host = "past", .lost_batches = 1, .lost_at = input_.now - seconds(601)}};
  const auto problems = Doctor(input_);
  ASSERT_THAT(problems, ElementsAre(Is("agent_batches_lost", "recent")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("dropped 82 batches (20,000,000 bytes)"));
  EXPECT_THAT(problems[0].recommended_action, HasSubstr("`buffer`"));
}

TEST_F(DoctorTest, ReportsMissingTopology) {
  answer_.fabric = nullptr;
  EXPECT_THAT(WithAnswer(), ElementsAre(Is("no_topology", "topology")));
}

TEST_F(DoctorTest, ReportsElementsThatAreNotInTheTopology) {
  answer_.cabling = std::make_shared<const CablingAnswer>(
      CablingAnswer{.switches = {.records = 5, .examples = {"192.0.2.9"}}});
  std::vector<FlowSummary> flows;
  FlowSummary flow;
  flow.flow.source = answer_.fabric->nic(0).addresses.front().address;
  flow.flow.destination = IpAddress::FromV4(0xc000'02c8);
  flows.push_back(flow);
  answer_.flows = std::make_shared<const FlowSummaries>(flows);
  HostFacts facts;
  Allocation allocation;
  // One host has the name in the topology with a domain; the other is not in the topology.
  allocation.nodes = {
      {.name = answer_.fabric->node(answer_.fabric->FindNode("host0")).name + ".example"},
      {.name = "gpu-77"}};
  facts.allocations = {allocation};
  answer_.host_facts = std::make_shared<const HostFacts>(facts);
  EXPECT_THAT(WithAnswer(),
              ElementsAre(Is("unknown_switch", "192.0.2.9"), Is("unknown_address", "192.0.2.200"),
                          Is("unknown_host", "gpu-77")));
}

TEST_F(DoctorTest, ReportsGpusOfJobsThatAreNotInTheTopology) {
  HostFacts facts;
  facts.allocations = {
      {.id = 7, .nodes = {{.name = "host1.rack2", .gpus = {0, 6}}}},
      {.id = 8, .state = AllocationState::kEnded, .nodes = {{.name = "host2", .gpus = {5}}}}};
  answer_.host_facts = std::make_shared<const HostFacts>(facts);
  const auto problems = WithAnswer();
  ASSERT_THAT(problems, ElementsAre(Is("unknown_gpu", "host1:gpu:6")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("job 7 uses this GPU"));
}

TEST_F(DoctorTest, ReportsClockOffsetsAndDrift) {
  ClockAnswer clocks;
  clocks.clocks = {{.name = "leaf0", .reference = true, .offset = Duration(0)},
                   {.name = "leaf1", .offset = std::chrono::milliseconds(-250)},
                   {.name = "leaf2", .offset = std::chrono::microseconds(300)},
                   {.name = "leaf3", .offset = Duration(0), .drift_ppb = 20'000}};
  answer_.clocks = std::make_shared<const ClockAnswer>(clocks);
  const auto problems = WithAnswer();
  ASSERT_THAT(problems, ElementsAre(Is("clock_offset", "leaf1"), Is("clock_drifts", "leaf3")));
  EXPECT_THAT(problems[0].sentence, HasSubstr("0.250 s behind"));
  EXPECT_THAT(problems[1].sentence, HasSubstr("20.0 ppm faster"));
}

TEST_F(DoctorTest, ReportsOnlyAFewProblemsOfAKind) {
  std::vector<FlowSummary> flows;
  for (uint32_t i = 0; i < 10; ++i) {
    FlowSummary flow;
    flow.flow.source = IpAddress::FromV4(0xc000'0200 + i);
    flow.flow.destination = answer_.fabric->nic(0).addresses.front().address;
    flows.push_back(flow);
  }
  answer_.flows = std::make_shared<const FlowSummaries>(flows);
  const auto problems = WithAnswer();
  ASSERT_THAT(problems, SizeIs(5));
  EXPECT_THAT(problems.back().sentence, HasSubstr("and 5 more"));
}

}  // namespace
}  // namespace rocescope
