// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/intake/agent_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "appliance/daemon/intake/agent_loop.h"
#include "dataplane/host/nccl_log_builder.h"
#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Taking = AgentIntake::Taking;

constexpr Timestamp kNow = FromNanoseconds(1'700'000'000'000'000'000);

v1::AgentHello Hello(const std::string& host, uint64_t session) {
  v1::AgentHello hello;
  hello.set_host(host);
  hello.set_session_id(session);
  return hello;
}

class Intake {
 public:
  explicit Intake(
      const AgentsConfig& config = {},
      AgentIntake::IsExpected is_expected = [](std::string_view) { return false; })
      : intake(config, std::move(is_expected)) {}

  auto TryToBegin(const std::string& host, uint64_t session, Timestamp now = kNow) {
    return intake.Begin(Hello(host, session), AnyAgent(host), "ipv4:10.0.0.7:1234", now);
  }
  AgentIntake::Welcome Begin(const std::string& host, uint64_t session, Timestamp now = kNow) {
    const auto welcome = TryToBegin(host, session, now);
    EXPECT_TRUE(welcome) << welcome.error().message;
    return welcome.value_or(AgentIntake::Welcome{});
  }
  Taking Take(uint64_t connection, uint64_t sequence, size_t bytes = 100) {
    auto batch = std::make_unique<v1::AgentBatch>();
    batch->set_sequence(sequence);
    return intake.Take(connection, batch, bytes, kNow, taken);
  }
  std::vector<uint64_t> Queued() {
    std::vector<uint64_t> sequences;
    while (const auto delivery = intake.Next()) sequences.push_back(delivery->batch->sequence());
    return sequences;
  }

  AgentIntake intake;
  uint64_t taken = 0;
};

TEST(AgentIntake, TakesEachBatchOnce) {
  Intake appliance;
  const auto first = appliance.Begin("gpu-7", 42);
  EXPECT_EQ(first.taken, 0u);
  EXPECT_EQ(appliance.Take(first.connection, 1), Taking::kTaken);
  EXPECT_EQ(appliance.Take(first.connection, 3), Taking::kTaken)
      << "batch 2 was dropped by the agent";
  const auto again = appliance.Begin("gpu-7", 42);
  EXPECT_EQ(again.taken, 3u);
  EXPECT_EQ(appliance.Take(again.connection, 3), Taking::kTaken);
  EXPECT_EQ(appliance.taken, 3u);
  EXPECT_EQ(appliance.Take(again.connection, 4), Taking::kTaken);
  EXPECT_THAT(appliance.Queued(), ElementsAre(1, 3, 4));
  const AgentState state = appliance.intake.Agents().at(0);
  EXPECT_EQ(state.duplicates, 1u);
  EXPECT_EQ(state.batches, 3u);
  EXPECT_EQ(state.sessions, 1u);
  EXPECT_EQ(state.connections, 2u);
}

TEST(AgentIntake, ANewSessionStartsAtItsFirstBatch) {
  Intake appliance;
  const auto first = appliance.Begin("gpu-7", 42);
  appliance.Take(first.connection, 9);
  const auto second = appliance.Begin("GPU-7", 43);
  EXPECT_EQ(second.taken, 0u);
  EXPECT_EQ(appliance.Take(second.connection, 1), Taking::kTaken);
  EXPECT_EQ(appliance.Take(first.connection, 10), Taking::kOver)
      << "the newer session takes precedence";
  EXPECT_EQ(appliance.intake.Agents().size(), 1u);
}

TEST(AgentIntake, ReportsTwoAgentsWithOneNameButNotARestart) {
  Intake appliance;
  for (const uint64_t session : {41, 42, 43}) appliance.Begin("gpu-7", session);
  EXPECT_THAT(appliance.intake.Problems(kNow), IsEmpty()) << "an agent that restarted twice";
  appliance.Begin("gpu-7", 42);
  EXPECT_THAT(appliance.intake.Problems(kNow),
              ElementsAre(HasSubstr("agent of gpu-7: two agents alternate with this host name")));
  appliance.Begin("gpu-7", 42, kNow + std::chrono::minutes(6));
  EXPECT_THAT(appliance.intake.Problems(kNow + std::chrono::minutes(6)), IsEmpty());
}

TEST(AgentIntake, RejectsBatchesWhenTheQueueIsFull) {
  Intake appliance({.queue = 8000});
  const auto host = appliance.Begin("gpu-7", 42);
  EXPECT_EQ(appliance.Take(host.connection, 1, 5000), Taking::kTaken)
      << "a single batch is always accepted";
  EXPECT_EQ(appliance.Take(host.connection, 2, 10), Taking::kFull);
  EXPECT_EQ(appliance.taken, 1u);
  EXPECT_THAT(appliance.Queued(), ElementsAre(1));
  EXPECT_EQ(appliance.Take(host.connection, 2, 10), Taking::kTaken);
}

// An eighth of the queue for each account.
TEST(AgentIntake, LeavesSpaceInTheQueueForOtherAccounts) {
  Intake appliance({.queue = 80'000});
  const auto greedy = appliance.Begin("a", 1);
  const auto other = appliance.Begin("b", 1);
  EXPECT_EQ(appliance.Take(greedy.connection, 1, 9'000), Taking::kTaken);
  EXPECT_EQ(appliance.Take(greedy.connection, 2, 9'000), Taking::kFull);
  EXPECT_EQ(appliance.Take(other.connection, 7, 9'000), Taking::kTaken);
  EXPECT_THAT(appliance.Queued(), ElementsAre(1, 7));
  EXPECT_EQ(appliance.Take(greedy.connection, 2, 9'000), Taking::kTaken);
}

TEST(AgentIntake, ChargesTheDecodedSizeOfABatch) {
  Intake appliance({.queue = 80'000});
  const auto host = appliance.Begin("a", 1);
  auto batch = std::make_unique<v1::AgentBatch>();
  batch->set_sequence(1);
  for (int i = 0; i < 5'000; ++i) batch->add_counters();  // two bytes each on the wire
  uint64_t taken = 0;
  const size_t encoded = batch->ByteSizeLong();
  EXPECT_EQ(appliance.intake.Take(host.connection, batch, encoded, kNow, taken), Taking::kTaken);
  EXPECT_EQ(appliance.Take(host.connection, 2, 100), Taking::kFull);
}

TEST(AgentIntake, AFullTablePrefersHostsOfTheTopology) {
  Intake appliance({.most = 2}, [](std::string_view host) { return host.starts_with("gpu-"); });
  appliance.Begin("gpu-1", 1);
  const auto stranger = appliance.Begin("x", 1);
  EXPECT_FALSE(appliance.TryToBegin("y", 1)) << "a stranger never replaces another host";
  EXPECT_TRUE(appliance.TryToBegin("gpu-2", 1));
  EXPECT_EQ(appliance.Take(stranger.connection, 1), Taking::kOver);
  EXPECT_FALSE(appliance.TryToBegin("gpu-3", 1)) << "both places belong to expected hosts";
}

TEST(AgentIntake, ACertificateHasOnePlaceForAllFormsOfItsName) {
  Intake appliance({.domains = {"gpu.example"}});
  const auto begin = [&](const std::string& host) {
    return appliance.intake.Begin(
        Hello(host, 1),
        IdentifyAgent(host, {"host0.gpu.example"}, {.domains = {"gpu.example"}}).value(), "", kNow);
  };
  ASSERT_TRUE(begin("host0.gpu.example"));
  ASSERT_TRUE(begin("host0"));
  ASSERT_EQ(appliance.intake.Agents().size(), 1u);
  EXPECT_EQ(appliance.intake.Agents()[0].host, "host0");
  EXPECT_EQ(appliance.intake.Next()->news, AgentNews::kGone)
      << "data under the other name is no longer valid";
}

TEST(AgentIntake, TwoHostsCannotReportAsTheSameName) {
  Intake appliance;
  ASSERT_TRUE(appliance.intake.Begin(Hello("gpu-7", 1), {"gpu-7.a.example", "a"}, "", kNow));
  const auto second = appliance.intake.Begin(Hello("GPU-7", 1), {"gpu-7.b.example", "b"}, "", kNow);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another host reports as \"GPU-7\""));
}

TEST(AgentIntake, LimitsTheNumberOfHosts) {
  Intake appliance({.most = 2});
  appliance.Begin("a", 1);
  const auto b = appliance.Begin("b", 1);
  const auto refused = appliance.TryToBegin("c", 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("agents: {max_hosts: ...}"));
  appliance.intake.End(b.connection, true, kNow);
  EXPECT_FALSE(appliance.TryToBegin("c", 1, kNow + seconds(10)));
  EXPECT_TRUE(appliance.TryToBegin("c", 1, kNow + hours(2))) << "b is silent for more than an hour";
}

TEST(AgentIntake, RejectsInvalidHellos) {
  Intake appliance;
  for (const char* host : {"", ".", "a b", "a/b", "\x1b[31m", "h\xc3\xb6st"}) {
    EXPECT_FALSE(appliance.TryToBegin(host, 1, kNow)) << host;
  }
  EXPECT_FALSE(appliance.TryToBegin(std::string(300, 'a'), 1, kNow));
  EXPECT_FALSE(appliance.TryToBegin("a", 0, kNow));
  EXPECT_FALSE(appliance.intake.any());
}

TEST(AgentIntake, ReportsSilenceUnlessAnnounced) {
  Intake appliance({.silent_after = seconds(30)});
  const auto a = appliance.Begin("a", 1);
  const auto b = appliance.Begin("b", 1);
  EXPECT_THAT(appliance.intake.Problems(kNow + seconds(29)), IsEmpty());
  appliance.intake.End(a.connection, false, kNow);
  appliance.intake.End(b.connection, true, kNow);
  EXPECT_THAT(appliance.intake.Problems(kNow + seconds(40)),
              ElementsAre("agent of a: no message for 40 s"));
}

// The news in order: 'b'atch, 's'ilent, 'h'eard, 'g'one.
std::string NewsOf(Intake& appliance) {
  std::string news;
  while (const auto delivery = appliance.intake.Next()) {
    news += "bshg"[static_cast<size_t>(delivery->news)];
    EXPECT_EQ(delivery->batch != nullptr, delivery->news == AgentNews::kBatch);
    EXPECT_EQ(delivery->host, "a");
  }
  return news;
}

TEST(AgentIntake, ReportsSilenceAndItsEndOnce) {
  Intake appliance({.silent_after = seconds(30)});
  const auto host = appliance.Begin("a", 1);
  appliance.Take(host.connection, 1);
  appliance.intake.NoticeSilence(kNow + seconds(60));
  EXPECT_EQ(NewsOf(appliance), "b") << "the minimum is a minute";
  appliance.intake.NoticeSilence(kNow + seconds(61));
  appliance.intake.NoticeSilence(kNow + seconds(62));
  EXPECT_EQ(NewsOf(appliance), "s");
  EXPECT_TRUE(appliance.intake.Hear(host.connection, {}, kNow + seconds(63)));
  appliance.Take(host.connection, 2);
  EXPECT_EQ(NewsOf(appliance), "hb");
}

TEST(AgentIntake, ASessionResendsEverythingAfterAnHour) {
  Intake appliance;
  const auto host = appliance.Begin("a", 1);
  appliance.Take(host.connection, 7);
  appliance.intake.End(host.connection, false, kNow);
  appliance.intake.NoticeSilence(kNow + hours(2));
  appliance.intake.NoticeSilence(kNow + hours(3));
  EXPECT_EQ(NewsOf(appliance), "bg");
  EXPECT_THAT(appliance.intake.Problems(kNow + hours(3)),
              ElementsAre("agent of a: no message for 10800 s"));
  EXPECT_EQ(appliance.Begin("a", 1, kNow + hours(3)).taken, 0u);
}

TEST(AgentIntake, KeepsConnectedAgentsWhenTheClockIsSetAhead) {
  Intake appliance;
  const auto host = appliance.Begin("a", 1);
  appliance.Take(host.connection, 7);
  appliance.intake.NoticeSilence(kNow + hours(2));
  EXPECT_EQ(appliance.Take(host.connection, 8), Taking::kTaken);
  EXPECT_EQ(NewsOf(appliance), "bshb") << "silent until its next message";
}

TEST(AgentIntake, AnAgentThatEndsIsGoneUnlessItRestartsSoon) {
  Intake appliance({.silent_after = seconds(90)});
  const auto first = appliance.Begin("a", 1);
  appliance.intake.End(first.connection, true, kNow);
  const auto second = appliance.Begin("a", 2, kNow + seconds(30));
  appliance.intake.NoticeSilence(kNow + seconds(91));
  EXPECT_EQ(NewsOf(appliance), "");
  appliance.intake.End(second.connection, true, kNow + seconds(100));
  appliance.intake.NoticeSilence(kNow + seconds(190));
  EXPECT_EQ(NewsOf(appliance), "");
  appliance.intake.NoticeSilence(kNow + seconds(191));
  EXPECT_EQ(NewsOf(appliance), "g");
}

TEST(AgentIntake, AnEvictedAgentIsGone) {
  Intake appliance({.most = 1});
  const auto host = appliance.Begin("a", 1);
  appliance.intake.End(host.connection, false, kNow);
  appliance.Begin("b", 1, kNow + hours(2));
  EXPECT_EQ(NewsOf(appliance), "g");
}

TEST(AgentIntake, KnowsWhenAnAgentLostBatchesLast) {
  Intake appliance;
  v1::AgentHeartbeat heartbeat;
  const auto hear = [&](uint64_t lost, uint64_t session, Timestamp now) {
    const auto host = appliance.Begin("a", session, now);
    heartbeat.set_lost_batches(lost);
    appliance.intake.Hear(host.connection, heartbeat, now);
    return appliance.intake.Agents().at(0).lost_at;
  };
  EXPECT_EQ(hear(0, 1, kNow), std::nullopt);
  EXPECT_EQ(hear(3, 1, kNow + seconds(1)), kNow + seconds(1));
  EXPECT_EQ(hear(3, 1, kNow + seconds(2)), kNow + seconds(1));
  EXPECT_EQ(hear(2, 2, kNow + seconds(3)), kNow + seconds(3))
      << "the counts of a session start at 0";
}

TEST(AgentIntake, HeartbeatsReportTheAgentState) {
  Intake appliance;
  const auto host = appliance.Begin("a", 1);
  v1::AgentHeartbeat heartbeat;
  heartbeat.set_lost_batches(3);
  heartbeat.set_clock_offset_ns(5'000'000);
  heartbeat.set_clock_uncertainty_ns(1'000'000);
  heartbeat.add_problems("cannot read");
  EXPECT_TRUE(appliance.intake.Hear(host.connection, heartbeat, kNow));
  EXPECT_EQ(appliance.intake.Agents().at(0).lost_batches, 3u);
  EXPECT_EQ(appliance.intake.Agents().at(0).lost_at, std::nullopt)
      << "lost before this appliance started";
  EXPECT_EQ(appliance.intake.Agents().at(0).clock_ahead, Duration(5'000'000));
  EXPECT_THAT(appliance.intake.Problems(kNow), ElementsAre("agent of a: cannot read"));
  appliance.Take(host.connection, 1);
  EXPECT_EQ(appliance.intake.Next()->clock_ahead, Duration(5'000'000));
  heartbeat.set_clock_uncertainty_ns(6'000'000);
  appliance.intake.Hear(host.connection, heartbeat, kNow);
  appliance.Take(host.connection, 2);
  EXPECT_EQ(appliance.intake.Next()->clock_ahead, Duration(0)) << "the offset is within its error";
  heartbeat.set_clock_offset_ns(INT64_MIN);
  appliance.intake.Hear(host.connection, heartbeat, kNow);
  EXPECT_EQ(appliance.intake.Agents().at(0).clock_ahead, std::nullopt);
}

TEST(AgentIntake, ShortensProblemsBetweenCharacters) {
  Intake appliance;
  const auto host = appliance.Begin("a", 1);
  v1::AgentHeartbeat heartbeat;
  std::string problem = "a";
  for (int i = 0; i < 300; ++i) problem += "\xc3\xa9";
  heartbeat.add_problems(problem);
  EXPECT_TRUE(appliance.intake.Hear(host.connection, heartbeat, kNow));
  EXPECT_EQ(appliance.intake.Agents().at(0).problems[0], problem.substr(0, 255));
}

// One agent with invalid counts must not make the sum over all agents meaningless.
TEST(AgentIntake, CapsImplausibleCounts) {
  Intake appliance;
  const auto host = appliance.Begin("a", 1);
  v1::AgentHeartbeat heartbeat;
  heartbeat.set_lost_batches(UINT64_MAX);
  heartbeat.set_log_lines(uint64_t{1} << 40);
  heartbeat.set_buffered_bytes(uint64_t{1} << 63);
  EXPECT_TRUE(appliance.intake.Hear(host.connection, heartbeat, kNow));
  const AgentState state = appliance.intake.Agents().at(0);
  for (const uint64_t count : {state.lost_batches, state.log_lines, state.buffered_bytes}) {
    EXPECT_EQ(count, uint64_t{1} << 40);
  }
}

TEST(AgentIntake, AcceptsNothingAfterClose) {
  Intake appliance;
  const auto host = appliance.Begin("a", 1);
  appliance.intake.Close();
  EXPECT_EQ(appliance.Take(host.connection, 1), Taking::kOver);
  EXPECT_FALSE(appliance.TryToBegin("b", 1, kNow));
}

TEST(AgentLoop, HandsOverRemainingDataBeforeItEnds) {
  Intake appliance;
  std::vector<AgentFacts> told;
  AgentLoop loop(
      appliance.intake, [](const std::string& host) { return host; },
      [&](AgentFacts facts) { told.push_back(std::move(facts)); });
  const auto host = appliance.Begin("gpu-7", 1);
  auto batch = std::make_unique<v1::AgentBatch>();
  batch->set_sequence(1);
  batch->set_read_ns(ToNanoseconds(kNow));
  v1::EntityCounters& counters = *batch->add_counters();
  counters.set_kind("nic");
  counters.set_port("mlx5_0");
  counters.add_metrics("rx_bytes");
  counters.add_values(1000);
  batch->add_logs()->set_text(test::LogText("gpu-7").Begin(3, 8).text());
  ASSERT_EQ(appliance.intake.Take(host.connection, batch, 100, kNow, appliance.taken),
            Taking::kTaken);
  loop.Run(std::atomic<bool>(true));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].logs.size(), 1u);
  ExchangedBatch* const handed = loop.records().Take();
  ASSERT_NE(handed, nullptr);
  EXPECT_EQ(handed->records.counters.size(), 1u);
  EXPECT_EQ(loop.Statistics().frames.ledger.decoded, 1u);
  EXPECT_TRUE(loop.Statistics().frames.ledger.Balances());
}

TEST(AgentLoop, ReportsDataAboveItsLimits) {
  Intake appliance;
  AgentLoop loop(appliance.intake, [](const std::string& host) { return host; }, [](AgentFacts) {});
  const auto host = appliance.Begin("gpu-7", 1);
  const auto tell = [&](uint64_t sequence, uint32_t number) {
    auto batch = std::make_unique<v1::AgentBatch>();
    batch->set_sequence(sequence);
    v1::QueuePairGroup& group = *batch->mutable_queue_pairs()->add_groups();
    group.set_device("mlx5_0");
    group.add_local_qpns(number);
    appliance.intake.Take(host.connection, batch, 100, kNow, appliance.taken);
    loop.Run(std::atomic<bool>(true));
  };
  tell(1, 20);
  EXPECT_THAT(loop.Problems(), IsEmpty());
  tell(2, 1u << 24);
  EXPECT_THAT(loop.Problems(), ElementsAre(HasSubstr("1 queue pairs of hosts were ignored")));
}

}  // namespace
}  // namespace rocescope
