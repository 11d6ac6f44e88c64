// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/intake/agent_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/job/nccl_log_builder.h"
#include "appliance/intake/agent_facts.h"
#include "appliance/intake/agent_loop.h"
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
  hello.set_session(session);
  return hello;
}

class Intake {
 public:
  explicit Intake(const AgentsConfig& config = {}) : intake(config) {}

  AgentIntake::Welcome Begin(const std::string& host, uint64_t session, Timestamp now = kNow) {
    const auto welcome = intake.Begin(Hello(host, session), "ipv4:10.0.0.7:1234", now);
    EXPECT_TRUE(welcome) << welcome.error().message;
    return welcome.value_or(AgentIntake::Welcome{});
  }
  Taking Take(uint64_t connection, uint64_t sequence, size_t octets = 100) {
    auto batch = std::make_unique<v1::AgentBatch>();
    batch->set_sequence(sequence);
    return intake.Take(connection, batch, octets, kNow, taken);
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
  Intake box;
  const auto first = box.Begin("gpu-7", 42);
  EXPECT_EQ(first.taken, 0u);
  EXPECT_EQ(box.Take(first.connection, 1), Taking::kTaken);
  EXPECT_EQ(box.Take(first.connection, 3), Taking::kTaken) << "2 was given up";
  const auto again = box.Begin("gpu-7", 42);
  EXPECT_EQ(again.taken, 3u);
  EXPECT_EQ(box.Take(again.connection, 3), Taking::kTaken);
  EXPECT_EQ(box.taken, 3u);
  EXPECT_EQ(box.Take(again.connection, 4), Taking::kTaken);
  EXPECT_THAT(box.Queued(), ElementsAre(1, 3, 4));
  const AgentState state = box.intake.Agents().at(0);
  EXPECT_EQ(state.duplicates, 1u);
  EXPECT_EQ(state.batches, 3u);
  EXPECT_EQ(state.sessions, 1u);
  EXPECT_EQ(state.connections, 2u);
}

TEST(AgentIntake, AnotherSessionBeginsAtItsFirstBatch) {
  Intake box;
  const auto first = box.Begin("gpu-7", 42);
  box.Take(first.connection, 9);
  const auto second = box.Begin("GPU-7", 43);
  EXPECT_EQ(second.taken, 0u);
  EXPECT_EQ(box.Take(second.connection, 1), Taking::kTaken);
  EXPECT_EQ(box.Take(first.connection, 10), Taking::kOver) << "the newer one is believed";
  EXPECT_EQ(box.intake.Agents().size(), 1u);
}

TEST(AgentIntake, TwoAgentsOfOneNameAreTroubleAndOneThatBeginsAnewIsNone) {
  Intake box;
  for (const uint64_t session : {41, 42, 43}) box.Begin("gpu-7", session);
  EXPECT_THAT(box.intake.Troubles(kNow), IsEmpty()) << "an agent that was killed twice";
  box.Begin("gpu-7", 42);
  EXPECT_THAT(box.intake.Troubles(kNow),
              ElementsAre(HasSubstr("agent of gpu-7: two report by this name")));
  box.Begin("gpu-7", 42, kNow + std::chrono::minutes(6));
  EXPECT_THAT(box.intake.Troubles(kNow + std::chrono::minutes(6)), IsEmpty());
}

TEST(AgentIntake, WhatFindsNoRoomWaitsOutside) {
  Intake box({.queue = 1000});
  const auto host = box.Begin("gpu-7", 42);
  EXPECT_EQ(box.Take(host.connection, 1, 5000), Taking::kTaken) << "one alone always finds room";
  EXPECT_EQ(box.Take(host.connection, 2, 10), Taking::kFull);
  EXPECT_EQ(box.taken, 1u);
  EXPECT_THAT(box.Queued(), ElementsAre(1));
  EXPECT_EQ(box.Take(host.connection, 2, 10), Taking::kTaken);
}

TEST(AgentIntake, HasRoomForSoManyHosts) {
  Intake box({.most = 2});
  box.Begin("a", 1);
  const auto b = box.Begin("b", 1);
  const auto refused = box.intake.Begin(Hello("c", 1), "", kNow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("agents: {most: ...}"));
  box.intake.End(b.connection, true, kNow);
  EXPECT_FALSE(box.intake.Begin(Hello("c", 1), "", kNow + seconds(10)));
  EXPECT_TRUE(box.intake.Begin(Hello("c", 1), "", kNow + hours(2))) << "b is long gone";
}

TEST(AgentIntake, RefusesWhatIsNoHello) {
  Intake box;
  for (const char* host : {"", ".", "a b", "a/b", "\x1b[31m", "h\xc3\xb6st"}) {
    EXPECT_FALSE(box.intake.Begin(Hello(host, 1), "", kNow)) << host;
  }
  EXPECT_FALSE(box.intake.Begin(Hello(std::string(300, 'a'), 1), "", kNow));
  EXPECT_FALSE(box.intake.Begin(Hello("a", 0), "", kNow));
  EXPECT_FALSE(box.intake.any());
}

TEST(AgentIntake, AnAgentReportsForWhatItsCertificateNames) {
  EXPECT_TRUE(MayReportFor("gpu-7", {"gpu-7"}, {}));
  EXPECT_TRUE(MayReportFor("gpu-7", {"GPU-7.rack2.example"}, {}));
  EXPECT_TRUE(MayReportFor("gpu-7.rack2.example", {"agent", "gpu-7"}, {}));
  EXPECT_FALSE(MayReportFor("gpu-7", {"gpu-70", "gpu-8.example"}, {}));
  EXPECT_FALSE(MayReportFor("gpu-7.rack1.example", {"gpu-7.rack2.example"}, {}));
  EXPECT_FALSE(MayReportFor("gpu-7", {}, {}));
  EXPECT_FALSE(MayReportFor("gpu-7", {"fleet"}, {}));
  EXPECT_TRUE(MayReportFor("gpu-7", {"fleet"}, {"fleet"}));
  EXPECT_FALSE(MayReportFor("gpu-7", {"eve"}, {"fleet"}));
}

TEST(AgentIntake, SilenceIsTroubleUnlessItWasSaid) {
  Intake box({.silent_after = seconds(30)});
  const auto a = box.Begin("a", 1);
  const auto b = box.Begin("b", 1);
  EXPECT_THAT(box.intake.Troubles(kNow + seconds(29)), IsEmpty());
  box.intake.End(a.connection, false, kNow);
  box.intake.End(b.connection, true, kNow);
  EXPECT_THAT(box.intake.Troubles(kNow + seconds(40)),
              ElementsAre("agent of a: not heard for 40 s"));
}

// News in order: 'b'atch, 's'ilent, 'h'eard, 'g'one.
std::string NewsOf(Intake& box) {
  std::string news;
  while (const auto delivery = box.intake.Next()) {
    news += "bshg"[static_cast<size_t>(delivery->news)];
    EXPECT_EQ(delivery->batch != nullptr, delivery->news == AgentNews::kBatch);
    EXPECT_EQ(delivery->host, "a");
  }
  return news;
}

TEST(AgentIntake, SilenceIsToldOnceAndSoIsItsEnd) {
  Intake box({.silent_after = seconds(30)});
  const auto host = box.Begin("a", 1);
  box.Take(host.connection, 1);
  box.intake.NoticeSilence(kNow + seconds(60));
  EXPECT_EQ(NewsOf(box), "b") << "a minute at least";
  box.intake.NoticeSilence(kNow + seconds(61));
  box.intake.NoticeSilence(kNow + seconds(62));
  EXPECT_EQ(NewsOf(box), "s");
  EXPECT_TRUE(box.intake.Hear(host.connection, {}, kNow + seconds(63)));
  box.Take(host.connection, 2);
  EXPECT_EQ(NewsOf(box), "hb");
}

TEST(AgentIntake, ASessionThatWasAwayForAnHourTellsAllAgain) {
  Intake box;
  const auto host = box.Begin("a", 1);
  box.Take(host.connection, 7);
  box.intake.End(host.connection, false, kNow);
  box.intake.NoticeSilence(kNow + hours(2));
  box.intake.NoticeSilence(kNow + hours(3));
  EXPECT_EQ(NewsOf(box), "bg");
  EXPECT_THAT(box.intake.Troubles(kNow + hours(3)),
              ElementsAre("agent of a: not heard for 10800 s"));
  EXPECT_EQ(box.Begin("a", 1, kNow + hours(3)).taken, 0u);
}

TEST(AgentIntake, WhoIsConnectedIsNotForgottenByAClockThatIsSetAhead) {
  Intake box;
  const auto host = box.Begin("a", 1);
  box.Take(host.connection, 7);
  box.intake.NoticeSilence(kNow + hours(2));
  EXPECT_EQ(box.Take(host.connection, 8), Taking::kTaken);
  EXPECT_EQ(NewsOf(box), "bshb") << "silent until it is heard";
}

TEST(AgentIntake, AnAgentThatEndsIsGoneUnlessItBeginsAnewSoon) {
  Intake box({.silent_after = seconds(90)});
  const auto first = box.Begin("a", 1);
  box.intake.End(first.connection, true, kNow);
  const auto second = box.Begin("a", 2, kNow + seconds(30));
  box.intake.NoticeSilence(kNow + seconds(91));
  EXPECT_EQ(NewsOf(box), "");
  box.intake.End(second.connection, true, kNow + seconds(100));
  box.intake.NoticeSilence(kNow + seconds(190));
  EXPECT_EQ(NewsOf(box), "");
  box.intake.NoticeSilence(kNow + seconds(191));
  EXPECT_EQ(NewsOf(box), "g");
}

TEST(AgentIntake, WhoMakesRoomForAnotherIsGone) {
  Intake box({.most = 1});
  const auto host = box.Begin("a", 1);
  box.intake.End(host.connection, false, kNow);
  box.Begin("b", 1, kNow + hours(2));
  EXPECT_EQ(NewsOf(box), "g");
}

TEST(AgentIntake, PulsesSayHowAnAgentIs) {
  Intake box;
  const auto host = box.Begin("a", 1);
  v1::AgentPulse pulse;
  pulse.set_lost_batches(3);
  pulse.set_has_clock(true);
  pulse.set_clock_ahead_ns(5'000'000);
  pulse.set_clock_error_ns(1'000'000);
  pulse.add_troubles("cannot read");
  EXPECT_TRUE(box.intake.Hear(host.connection, pulse, kNow));
  EXPECT_EQ(box.intake.Agents().at(0).lost_batches, 3u);
  EXPECT_EQ(box.intake.Agents().at(0).clock_ahead, Duration(5'000'000));
  EXPECT_THAT(box.intake.Troubles(kNow), ElementsAre("agent of a: cannot read"));
  box.Take(host.connection, 1);
  EXPECT_EQ(box.intake.Next()->clock_ahead, Duration(5'000'000));
  pulse.set_clock_error_ns(6'000'000);
  box.intake.Hear(host.connection, pulse, kNow);
  box.Take(host.connection, 2);
  EXPECT_EQ(box.intake.Next()->clock_ahead, Duration(0)) << "that may be no difference at all";
  pulse.set_clock_ahead_ns(INT64_MIN);
  box.intake.Hear(host.connection, pulse, kNow);
  EXPECT_EQ(box.intake.Agents().at(0).clock_ahead, std::nullopt);
}

// So that sums over agents say something though one of them does not tell the truth.
TEST(AgentIntake, CountsThatNoAgentReachesAreBounded) {
  Intake box;
  const auto host = box.Begin("a", 1);
  v1::AgentPulse pulse;
  pulse.set_lost_batches(UINT64_MAX);
  pulse.set_log_lines(uint64_t{1} << 40);
  pulse.set_held_octets(uint64_t{1} << 63);
  EXPECT_TRUE(box.intake.Hear(host.connection, pulse, kNow));
  const AgentState state = box.intake.Agents().at(0);
  for (const uint64_t count : {state.lost_batches, state.log_lines, state.held_octets}) {
    EXPECT_EQ(count, uint64_t{1} << 40);
  }
}

TEST(AgentIntake, TakesNothingOnceItIsClosed) {
  Intake box;
  const auto host = box.Begin("a", 1);
  box.intake.Close();
  EXPECT_EQ(box.Take(host.connection, 1), Taking::kOver);
  EXPECT_FALSE(box.intake.Begin(Hello("b", 1), "", kNow));
}

// --- What batches say ---

class Facts {
 public:
  bool Add(const v1::AgentBatch& batch, uint64_t session = 1, const std::string& host = "gpu-7",
           Duration clock_ahead = {}) {
    return builder.Add({.host = host,
                        .session = session,
                        .batch = std::make_unique<v1::AgentBatch>(batch),
                        .clock_ahead = clock_ahead,
                        .arrival = now},
                       counters);
  }
  bool News(AgentNews news, const std::string& host = "gpu-7") {
    return builder.Add({.host = host, .session = 1, .news = news, .arrival = now}, counters);
  }
  bool Log(const std::string& text, uint64_t session = 1, uint64_t log = 1,
           const std::string& host = "gpu-7") {
    v1::AgentBatch batch;
    v1::LogLines& lines = *batch.add_logs();
    lines.set_log(log);
    lines.set_path("/var/log/nccl.log");
    lines.set_text(text);
    return Add(batch, session, host);
  }
  bool CaughtUp(uint64_t session) {
    v1::AgentBatch batch;
    batch.set_caught_up(true);
    return Add(batch, session);
  }
  // The rank that is known; -1: none.
  int Rank() const {
    const auto jobs = GroupJobs(builder.Facts().logs);
    return jobs.size() == 1 && jobs[0].ranks.size() == 1 ? jobs[0].ranks[0].rank : -1;
  }

  // Which sessions' logs are there, by how many lines were read of each.
  std::vector<size_t> LinesOfLogs() const {
    std::vector<size_t> lines;
    for (const NcclLog& log : builder.Facts().logs) lines.push_back(log.lines);
    return lines;
  }

  explicit Facts(const AgentFactsBuilder::Limits& limits = {})
      : builder([](const std::string& host) { return host.substr(0, host.find('.')); }, limits) {}

  AgentFactsBuilder builder;
  std::vector<CounterRecord> counters;
  Timestamp now = kNow;
};

TEST(AgentFacts, LogsGrow) {
  Facts facts;
  EXPECT_TRUE(facts.Log(test::LogText("gpu-7").Begin(3, 8).text()));
  EXPECT_EQ(facts.Rank(), 3);
  EXPECT_TRUE(facts.Log(test::LogText("gpu-7").Complete(3, 8).text()));
  const AgentFacts all = facts.builder.Facts();
  facts.CaughtUp(1);
  EXPECT_EQ(facts.builder.Facts().log_changes, all.log_changes) << "no line has come since";
  facts.Log("");
  EXPECT_NE(facts.builder.Facts().log_changes, all.log_changes);
  ASSERT_EQ(all.logs.size(), 1u);
  EXPECT_EQ(all.logs[0].source_name, "gpu-7:/var/log/nccl.log");
  EXPECT_EQ(all.logs[0].lines, 2u);
}

TEST(AgentFacts, AnotherSessionCountsOnceItHasCaughtUp) {
  Facts facts;
  facts.Log(test::LogText("gpu-7").Begin(3, 8).text(), 1);
  facts.CaughtUp(1);
  facts.Log(test::LogText("gpu-7").Begin(5, 8).text(), 2);
  EXPECT_EQ(facts.Rank(), 3) << "the new one has not said all yet";
  const uint64_t changes = facts.builder.Facts().log_changes;
  EXPECT_TRUE(facts.CaughtUp(2));
  EXPECT_NE(facts.builder.Facts().log_changes, changes);
  EXPECT_EQ(facts.Rank(), 5);
}

TEST(AgentFacts, AnotherSessionThatNeverCatchesUpCountsAfterAWhile) {
  Facts facts;
  facts.Log(test::LogText("gpu-7").Begin(3, 8).text(), 1);
  facts.Log(test::LogText("gpu-7").Begin(5, 8).text(), 2);
  facts.now += seconds(61);
  EXPECT_TRUE(facts.Log(test::LogText("gpu-7").Complete(5, 8).text(), 2));
  EXPECT_EQ(facts.Rank(), 5);
}

// A process of a job with a queue pair on a device, and what it logs.
void TellAll(Facts& facts, const std::string& host) {
  v1::AgentBatch batch;
  v1::QueuePairGroup& group = *batch.mutable_queue_pairs()->add_groups();
  group.set_device("mlx5_0");
  group.add_local_qpns(20);
  v1::HostProcess& process = *batch.mutable_processes()->add_processes();
  process.set_slurm_job_id(77);
  process.set_rank(2);
  batch.mutable_inventory()->add_gpus()->set_pci("0000:1b:00.0");
  facts.Add(batch, 1, host);
  facts.Log(test::LogText(host).Begin(3, 8).text(), 1, 1, host);
}

TEST(AgentFacts, ASilentHostsProcessesMayHaveEnded) {
  Facts facts;
  TellAll(facts, "gpu-7");
  EXPECT_TRUE(facts.News(AgentNews::kSilent));
  const AgentFacts all = facts.builder.Facts();
  EXPECT_THAT(all.processes, IsEmpty());
  EXPECT_THAT(all.allocations, IsEmpty()) << "nobody holds its GPUs";
  EXPECT_EQ(all.rdma.size(), 1u);
  EXPECT_EQ(all.gpus.size(), 1u);
  EXPECT_TRUE(facts.News(AgentNews::kHeard));
  EXPECT_EQ(facts.builder.Facts().processes.size(), 1u) << "it is not told again";
  EXPECT_EQ(facts.builder.Facts().allocations.size(), 1u);
}

TEST(AgentFacts, AnotherSessionAfterSilenceCountsAtOnceWithItsProcesses) {
  Facts facts;
  TellAll(facts, "gpu-7");
  facts.News(AgentNews::kSilent);
  v1::AgentBatch batch;
  batch.mutable_processes()->add_processes()->set_slurm_job_id(78);
  batch.set_caught_up(true);
  facts.Add(batch, 2);
  ASSERT_EQ(facts.builder.Facts().allocations.size(), 1u);
  EXPECT_EQ(facts.builder.Facts().allocations[0].id, 78u);
}

TEST(AgentFacts, OfAHostThatIsGoneNothingStays) {
  Facts facts;
  TellAll(facts, "gpu-7");
  TellAll(facts, "gpu-8");
  EXPECT_TRUE(facts.News(AgentNews::kGone));
  EXPECT_FALSE(facts.News(AgentNews::kGone));
  EXPECT_FALSE(facts.News(AgentNews::kSilent, "gpu-9"));
  const AgentFacts all = facts.builder.Facts();
  ASSERT_EQ(all.rdma.size(), 1u);
  EXPECT_EQ(all.rdma[0].host, "gpu-8");
  EXPECT_EQ(all.logs.size(), 1u);
  EXPECT_EQ(all.gpus.size(), 1u);
  EXPECT_EQ(all.processes.size(), 1u);
  ASSERT_EQ(all.allocations.size(), 1u);
  EXPECT_EQ(all.allocations[0].nodes.size(), 1u);
}

std::string LogLinesOf(int rank, size_t count) {
  std::string text;
  while (count-- > 0) text += test::LogText("gpu-7").Begin(rank, 8).text();
  return text;
}

TEST(AgentFacts, TheLogWrittenLongestAgoMakesRoomForANewOne) {
  Facts facts({.logs = 2});
  facts.Log(LogLinesOf(1, 1), 1, 1);
  facts.Log(LogLinesOf(2, 2), 1, 2);
  facts.Log(LogLinesOf(1, 2), 1, 1);
  EXPECT_TRUE(facts.Log(LogLinesOf(3, 4), 1, 3));
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(3, 4)) << "2 was written before 1";
  EXPECT_EQ(facts.builder.counts().forgotten, 1u);
}

TEST(AgentFacts, LogsOfAHostHaveSoManyOctets) {
  const size_t line = LogLinesOf(1, 1).size();
  Facts facts({.log_octets = 2 * 1024 + 40 * line});  // a KiB for each log beside its text
  facts.Log(LogLinesOf(1, 20), 1, 1);
  facts.Log(LogLinesOf(2, 19), 1, 2);
  facts.Log(LogLinesOf(3, 10), 1, 3);
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(19, 10));
  facts.Log(LogLinesOf(3, 29), 1, 3);
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(39));
  facts.Log(LogLinesOf(3, 7), 1, 3);
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(7)) << "alone it begins anew";
  EXPECT_EQ(facts.builder.counts().forgotten, 3u);
}

TEST(AgentFacts, LogsOfAllHostsHaveSoManyOctets) {
  const size_t line = LogLinesOf(1, 1).size();
  Facts facts({.all_log_octets = 4 * (1024 + 10 * line)});
  for (const int host : {1, 2, 3, 4}) {
    facts.Log(LogLinesOf(host, 10), 1, 1, "gpu-" + std::to_string(host));
  }
  EXPECT_EQ(facts.builder.Facts().logs.size(), 4u);
  facts.News(AgentNews::kGone, "gpu-4");
  facts.Log(LogLinesOf(1, 10), 1, 1, "gpu-5");
  EXPECT_EQ(facts.builder.counts().forgotten, 0u) << "who is gone left room";
  facts.Log(LogLinesOf(1, 1), 1, 1, "gpu-1");
  EXPECT_EQ(facts.builder.counts().forgotten, 1u);
  const AgentFacts all = facts.builder.Facts();
  ASSERT_EQ(all.logs.size(), 3u);
  EXPECT_EQ(all.logs[0].source_name, "gpu-1:/var/log/nccl.log");
  EXPECT_EQ(all.logs[1].source_name, "gpu-3:/var/log/nccl.log") << "2's was the oldest";
}

TEST(AgentFacts, QueuePairsAndAddressesTakeThePlaceOfThoseBefore) {
  Facts facts;
  v1::AgentBatch batch;
  v1::QueuePairGroup& group = *batch.mutable_queue_pairs()->add_groups();
  group.set_device("mlx5_0");
  group.set_port(1);
  group.set_type("RC");
  group.set_process_id(4100);
  for (const uint32_t number : {20u, 21u, 1u << 24}) group.add_local_qpns(number);
  for (const uint32_t number : {30u, 0u, 7u}) group.add_remote_qpns(number);
  EXPECT_TRUE(facts.Add(batch));
  v1::AgentBatch devices;
  v1::RdmaDevice& device = *devices.mutable_inventory()->add_devices();
  device.set_name("mlx5_0");
  device.add_ports()->add_addresses("192.0.2.11");
  device.mutable_ports(0)->add_addresses("no address");
  devices.mutable_inventory()->add_gpus()->set_pci("0000:2c:00.0");
  devices.mutable_inventory()->add_gpus()->set_pci("0000:1b:00.0");
  EXPECT_TRUE(facts.Add(devices));
  const AgentFacts all = facts.builder.Facts();
  ASSERT_EQ(all.rdma.size(), 1u);
  EXPECT_EQ(all.rdma[0].host, "gpu-7");
  ASSERT_EQ(all.rdma[0].queue_pairs.size(), 2u) << "a number has 24 bits";
  EXPECT_EQ(facts.builder.counts().refused, 1u);
  EXPECT_EQ(all.rdma[0].queue_pairs[0].remote, Qpn{30});
  EXPECT_EQ(all.rdma[0].queue_pairs[1].remote, std::nullopt);
  EXPECT_EQ(all.rdma[0].queue_pairs[1].process_id, 4100u);
  ASSERT_EQ(all.nics.size(), 1u);
  EXPECT_THAT(all.nics[0].addresses, ElementsAre(IpAddress::FromV4(0xc000020b)));
  ASSERT_EQ(all.gpus.size(), 2u);
  EXPECT_EQ(all.gpus[0].pci, "0000:1b:00.0");
  EXPECT_EQ(all.gpus[1].number, 1u);
  group.clear_local_qpns();
  EXPECT_TRUE(facts.Add(batch));
  EXPECT_THAT(facts.builder.Facts().rdma.at(0).queue_pairs, IsEmpty());
}

TEST(AgentFacts, ProcessesTellWhichNodesAreAJobs) {
  Facts facts;
  v1::AgentBatch batch;
  for (const uint64_t job : {77u, 77u, 0u}) {
    batch.mutable_processes()->add_processes()->set_slurm_job_id(job);
  }
  facts.Add(batch, 1, "gpu-7");
  facts.Add(batch, 1, "gpu-8");
  const auto allocations = facts.builder.Facts().allocations;
  ASSERT_EQ(allocations.size(), 1u);
  EXPECT_EQ(allocations[0].id, 77u);
  ASSERT_EQ(allocations[0].nodes.size(), 2u);
  EXPECT_EQ(allocations[0].nodes[1].name, "gpu-8");
}

TEST(AgentFacts, EnvironmentsTellRanksAndGpus) {
  Facts facts;
  v1::AgentBatch batch;
  uint64_t id = 100;
  const auto add = [&](int64_t rank, int64_t local_rank, int64_t world_size, const char* gpus) {
    v1::HostProcess& process = *batch.mutable_processes()->add_processes();
    process.set_process_id(++id);
    process.set_rank(rank);
    process.set_local_rank(local_rank);
    process.set_world_size(world_size);
    process.set_visible_gpus(gpus);
  };
  add(9, 1, 16, "");           // 101: all GPUs are there, it takes its own
  add(10, 2, 16, "4,5,6,7");   // 102
  add(11, 3, 16, "7");         // 103: its launcher has chosen
  add(12, 4, 16, "4,5,6,7");   // 104: none of those
  add(13, 0, 16, "GPU-8a,1");  // 105: by UUID
  add(16, 0, 16, "");          // 106: more ranks than there are
  add(-1, 0, 16, "");          // says nothing
  add(int64_t{1} << 40, 0, 16, "");
  facts.Add(batch, 1, "gpu-7");
  const auto processes = facts.builder.Facts().processes;
  std::vector<int> gpus;
  for (const HostProcess& process : processes) gpus.push_back(process.gpu);
  EXPECT_THAT(gpus, ElementsAre(1, 6, 7, -1, -1, 0));
  EXPECT_EQ(processes[1].host, "gpu-7");
  EXPECT_EQ(processes[1].process_id, 102u);
  EXPECT_EQ(processes[1].rank, 10);
  EXPECT_EQ(processes[1].world_size, 16);
  EXPECT_EQ(processes[5].world_size, -1);
}

v1::EntityCounters& Nic(v1::AgentBatch& batch) {
  v1::EntityCounters& counters = *batch.add_counters();
  counters.set_kind("nic");
  counters.set_port("mlx5_0");
  counters.add_metrics("rx_bytes");
  counters.add_values(1000);
  return counters;
}

TEST(AgentFacts, CountersBecomeRecordsOfThatHost) {
  Facts facts;
  v1::AgentBatch batch;
  batch.set_read_ns(ToNanoseconds(kNow) - 5'000'000'000);
  Nic(batch).set_priority(4);
  EXPECT_FALSE(facts.Add(batch, 1, "gpu-7.rack2.example", Duration(1'000'000'000)))
      << "they are no facts";
  ASSERT_EQ(facts.counters.size(), 1u);
  const CounterRecord& record = facts.counters[0];
  EXPECT_EQ(record.entity, (CounterEntity{.kind = EntityKind::kNic,
                                          .priority = 3,
                                          .agent = {},
                                          .node = "gpu-7",
                                          .port = "mlx5_0"}));
  EXPECT_EQ(record.metric, Metric::kRxBytes);
  EXPECT_EQ(record.value, 1000u);
  EXPECT_EQ(record.event_time, kNow - seconds(4)) << "by the box's clock";
  EXPECT_EQ(record.arrival_time, kNow);
}

TEST(AgentFacts, CountersThatMeanNothingAreCounted) {
  Facts facts;
  v1::AgentBatch batch;
  batch.set_read_ns(ToNanoseconds(kNow) + 9'000'000'000);
  Nic(batch).set_kind("port");  // a switch's
  Nic(batch).set_kind("moon");
  Nic(batch).set_priority(9);
  Nic(batch).clear_port();
  Nic(batch).add_metrics("more names than values");
  Nic(batch).set_metrics(0, "no_such_metric");
  Nic(batch).set_event_ns(-1);
  Nic(batch);
  facts.Add(batch);
  ASSERT_EQ(facts.counters.size(), 1u);
  EXPECT_EQ(facts.counters[0].event_time, kNow) << "nothing was read that is yet to come";
  EXPECT_EQ(facts.builder.counts().readings, 9u);
  EXPECT_EQ(facts.builder.counts().malformed, 8u);
}

TEST(AgentLoop, HandsOverWhatThereIsBeforeItEnds) {
  Intake box;
  std::vector<AgentFacts> told;
  AgentLoop loop(
      box.intake, [](const std::string& host) { return host; },
      [&](AgentFacts facts) { told.push_back(std::move(facts)); });
  const auto host = box.Begin("gpu-7", 1);
  auto batch = std::make_unique<v1::AgentBatch>();
  batch->set_sequence(1);
  batch->set_read_ns(ToNanoseconds(kNow));
  Nic(*batch);
  batch->add_logs()->set_text(test::LogText("gpu-7").Begin(3, 8).text());
  ASSERT_EQ(box.intake.Take(host.connection, batch, 100, kNow, box.taken), Taking::kTaken);
  loop.Run(std::atomic<bool>(true));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].logs.size(), 1u);
  HandedBatch* const handed = loop.records().Take();
  ASSERT_NE(handed, nullptr);
  EXPECT_EQ(handed->records.counters.size(), 1u);
  EXPECT_EQ(loop.Statistics().frames.ledger.decoded, 1u);
  EXPECT_TRUE(loop.Statistics().frames.ledger.Balances());
}

TEST(AgentLoop, SaysWhatFoundNoRoom) {
  Intake box;
  AgentLoop loop(box.intake, [](const std::string& host) { return host; }, [](AgentFacts) {});
  const auto host = box.Begin("gpu-7", 1);
  const auto tell = [&](uint64_t sequence, uint32_t number) {
    auto batch = std::make_unique<v1::AgentBatch>();
    batch->set_sequence(sequence);
    v1::QueuePairGroup& group = *batch->mutable_queue_pairs()->add_groups();
    group.set_device("mlx5_0");
    group.add_local_qpns(number);
    box.intake.Take(host.connection, batch, 100, kNow, box.taken);
    loop.Run(std::atomic<bool>(true));
  };
  tell(1, 20);
  EXPECT_THAT(loop.Troubles(), IsEmpty());
  tell(2, 1u << 24);
  EXPECT_THAT(loop.Troubles(), ElementsAre(HasSubstr("1 queue pairs of hosts were not taken")));
}

}  // namespace
}  // namespace rocescope
