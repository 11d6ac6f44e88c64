// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <memory>

#include "dataplane/host/nccl_log_builder.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/agent.pb.h"
#include "tests/support/frame_builder.h"
#include "tests/support/udp_sender.h"
#include "topology/generate.h"
#include "topology/yaml.h"

namespace rocescope::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr ListenAddress kAnyPort = {.address = IpAddress::FromV4(0x7f000001)};

std::unique_ptr<Daemon> OpenDaemon(const ApplianceConfig& config) {
  auto daemon = Daemon::Open(config, [](Severity, const std::string&) {});
  EXPECT_TRUE(daemon) << daemon.error().message;
  return *std::move(daemon);
}

std::string ErrorOf(const ApplianceConfig& config) {
  const auto daemon = Daemon::Open(config, [](Severity, const std::string&) {});
  return daemon ? "" : daemon.error().message;
}

TEST(Daemon, NeedsASource) { EXPECT_THAT(ErrorOf({}), HasSubstr("no sources are configured")); }

TEST(Daemon, ReportsUnreadableFiles) {
  EXPECT_THAT(ErrorOf({.topology = "/nowhere/fabric.yaml", .udp = {.sflow = {kAnyPort}}}),
              HasSubstr("/nowhere/fabric.yaml"));
  EXPECT_THAT(ErrorOf({.udp = {.sflow = {kAnyPort}}, .host_files = {.rdma = {"/nowhere/qp"}}}),
              HasSubstr("/nowhere/qp"));
}

TEST(Daemon, ReportsAMissingInterface) {
  EXPECT_THAT(ErrorOf({.interfaces = {{.name = "nosuch0"}}}), HasSubstr("interface nosuch0: "));
}

TEST(Daemon, WarnsOfATopologyThatNeedsMoreThanHalfOfTheMemoryBudget) {
  const std::string file = testing::TempDir() + "large_fabric.yaml";
  std::ofstream(file) << topology::WriteFabric(
      topology::Generate({.hosts = 1000, .leaves = 20, .spines = 4}).value());
  const auto warnings = [&](uint64_t memory) {
    std::vector<std::string> texts;
    const auto daemon =
        Daemon::Open({.topology = file, .memory = memory, .udp = {.sflow = {kAnyPort}}},
                     [&](Severity severity, const std::string& text) {
                       if (severity == Severity::kWarning) texts.push_back(text);
                     });
    EXPECT_TRUE(daemon);
    return texts;
  };
  EXPECT_THAT(warnings(1 << 20),
              ElementsAre(AllOf(HasSubstr("of the memory budget of 1M, more than half"),
                                HasSubstr("set the key `memory` to"))));
  EXPECT_THAT(warnings(uint64_t{1} << 30), ElementsAre());
}

TEST(Daemon, PublishesEachWindowWithoutInput) {
  const auto daemon =
      OpenDaemon({.analysis_window = std::chrono::milliseconds(50), .udp = {.sflow = {kAnyPort}}});
  EXPECT_EQ(daemon->answers().Latest(), nullptr);
  daemon->Start();
  const auto first = daemon->answers().WaitForOther(0, std::chrono::seconds(20));
  ASSERT_NE(first, nullptr);
  const auto second = daemon->answers().WaitForOther(first->version, std::chrono::seconds(20));
  ASSERT_NE(second, nullptr);
  EXPECT_GT(second->version, first->version);
  EXPECT_GE(second->reached - first->reached, std::chrono::milliseconds(1));
  EXPECT_TRUE(second->snapshot->flows->empty());
}

TEST(Daemon, CountsDatagramsOfItsSockets) {
  const auto daemon = OpenDaemon({.udp = {.int_reports = {kAnyPort}, .sflow = {kAnyPort}}});
  const std::vector<ListenAddress> listens = daemon->Sources().at(0).listens;
  ASSERT_EQ(listens.size(), 2u);
  UdpSender sflow(listens[1].port);
  // An sFlow version 5 datagram of agent 192.0.2.1 without samples, and an invalid datagram.
  ASSERT_TRUE(sflow.Send(
      Bytes{0, 0, 0, 5, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0}));
  ASSERT_TRUE(sflow.Send(Bytes{1, 2, 3}));
  daemon->Start();
  daemon->Stop();
  const std::vector<SourceState> sources = daemon->Sources();
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].kind, SourceKind::kUdp);
  EXPECT_EQ(sources[0].error, "");
  const FrameProcessor::Counters& counters = sources[0].statistics.frames;
  EXPECT_EQ(counters.ledger.received, 2u);
  EXPECT_EQ(counters.telemetry.sflow_datagrams.received, 2u);
  EXPECT_EQ(counters.telemetry.sflow_datagrams.decoded, 1u);
  EXPECT_TRUE(counters.telemetry.sflow_datagrams.Balances());
  ASSERT_NE(daemon->answers().Latest(), nullptr);  // the final answer
}

// Waits for the condition on the host facts.
template <typename Is>
std::shared_ptr<const HostFacts> FactsThat(Daemon& daemon, Is is) {
  uint64_t version = 0;
  while (const auto answer = daemon.answers().WaitForOther(version, std::chrono::seconds(20))) {
    version = answer->version;
    if (is(*answer->snapshot->host_facts)) return answer->snapshot->host_facts;
    if (version > 200) break;
  }
  return nullptr;
}

TEST(Daemon, KeepsJobsOfAgentLogsAndRegisteredJobs) {
  const auto daemon =
      OpenDaemon({.analysis_window = std::chrono::milliseconds(20), .udp = {.sflow = {kAnyPort}}});
  v1::AgentHello hello;
  hello.set_host("gpu-7");
  hello.set_session_id(1);
  const auto agent =
      daemon->agents().Begin(hello, AnyAgent(hello.host()), "ipv4:10.0.0.7:1234", WallClock());
  ASSERT_TRUE(agent) << agent.error().message;
  uint64_t sequence = 0;
  uint64_t taken = 0;
  const auto say = [&](int rank) {
    auto batch = std::make_unique<v1::AgentBatch>();
    batch->set_sequence(++sequence);
    batch->set_caught_up(true);
    batch->add_logs()->set_text(
        LogText("gpu-7", 100u + static_cast<uint64_t>(rank)).Begin(rank, 8).text());
    ASSERT_EQ(daemon->agents().Take(agent->connection, batch, 100, WallClock(), taken),
              AgentIntake::Taking::kTaken);
  };
  const auto ranks_are = [](const HostFacts& facts, int ranks) {
    return facts.jobs.size() == 1 &&
           std::ranges::count_if(facts.jobs[0].ranks,
                                 [](const JobRank& rank) { return !rank.host.empty(); }) == ranks;
  };
  daemon->Start();
  say(3);
  ASSERT_NE(FactsThat(*daemon, [&](const auto& facts) { return ranks_are(facts, 1); }), nullptr);
  daemon->SetAllocations(
      {{.id = 9, .nodes = {{.name = "a"}}}, {.id = 7, .nodes = {{.name = "b"}}}});
  const auto registered =
      FactsThat(*daemon, [](const HostFacts& facts) { return facts.allocations.size() == 2; });
  ASSERT_NE(registered, nullptr);
  EXPECT_EQ(registered->allocations[0].id, 7u);
  EXPECT_TRUE(ranks_are(*registered, 1));
  say(4);
  const auto grown = FactsThat(*daemon, [&](const auto& facts) { return ranks_are(facts, 2); });
  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(grown->allocations.size(), 2u);
  ASSERT_TRUE(daemon->ReadHostFilesAgain());
  daemon->Stop();
  EXPECT_TRUE(ranks_are(*daemon->answers().Latest()->snapshot->host_facts, 2));
}

TEST(Daemon, StoppingDoesNotWaitForASlowAnalysis) {
  std::promise<void> blocked;
  std::promise<void> released;
  // The analysis reports a full memory, and then waits in the notification.
  const auto notify = [&, is_first = std::make_shared<std::atomic<bool>>(true)](
                          Severity, const std::string& text) {
    if (text.find("memory budget") == std::string::npos || !is_first->exchange(false)) return;
    blocked.set_value();
    released.get_future().wait();
  };
  const auto daemon = Daemon::Open({.memory = 1 << 20, .udp = {.sflow = {kAnyPort}}}, notify);
  ASSERT_TRUE(daemon) << daemon.error().message;
  (*daemon)->Start();
  blocked.get_future().wait();
  EXPECT_FALSE((*daemon)->Stop(std::chrono::milliseconds(20)));
  released.set_value();
  EXPECT_TRUE((*daemon)->Stop());
}

TEST(Daemon, StopsTwice) {
  const auto daemon = OpenDaemon({.udp = {.sflow = {kAnyPort}}});
  daemon->Start();
  daemon->Stop();
  daemon->Stop();
}

}  // namespace
}  // namespace rocescope::test
