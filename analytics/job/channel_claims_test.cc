// SPDX-License-Identifier: BSD-3-Clause
// Attribution with logs that contain channels but no queue pairs (NCCL_DEBUG=INFO without the
// subsystem NET). The logs are made by hand; the expected ranks follow from their channels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/job/attribution.h"
#include "analytics/job/channel_claims.h"
#include "analytics/job/host_facts_builder.h"
#include "dataplane/host/nccl_log_builder.h"

namespace rocescope {
namespace {

using test::Facts;
using test::LogText;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kUnknown = -1;

// The log of a process on "node<host>" with two NICs, up to the start of a communicator.
LogText Started(int host, int rank, int rank_count, uint64_t process_id = 100,
                std::string_view comm_id = "0xabc", int cuda_device = 0) {
  LogText log(fmt::format("node{}", host), process_id);
  log.On(process_id, cuda_device);
  log.Info(
      fmt::format("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
                  "eth0:192.168.0.{}<0>",
                  host));
  log.Begin(rank, rank_count, comm_id);
  return log;
}

// Device mlx5_0 of host h has the address 10.0.0.<h>, mlx5_1 has 10.0.0.<100 + h>.
Facts FactsOf(const std::vector<NcclLog>& logs) {
  Facts facts;
  facts.Jobs(GroupJobs(logs));
  for (int host = 1; host <= 4; ++host) {
    facts.Nic(fmt::format("node{}", host), "mlx5_0", host);
    facts.Nic(fmt::format("node{}", host), "mlx5_1", 100 + host);
  }
  return facts;
}

// Adds a connection over which `from` sends data and `to` clear-to-sends, as NCCL does.
Facts& Data(Facts& facts, int from, uint32_t qpn_from, int to, uint32_t qpn_to) {
  return facts.Paired(from, qpn_from, to, qpn_to)
      .Sent(from, to, qpn_to, 1'000'000, 50)
      .Asked(to, from, qpn_from, 50);
}

std::vector<NcclLog> RingOfTwo() {
  return {Started(1, 0, 2).Receive(1, 0).Send(0, 1).Parse(),
          Started(2, 1, 2).Receive(0, 1).Send(1, 0).Parse()};
}

TEST(ChannelClaims, FindTheOnlyRankOfEachNic) {
  Facts facts = FactsOf(RingOfTwo());
  Data(facts, 1, 11, 2, 21);
  Data(facts, 2, 22, 1, 12);
  const Attribution result = facts.Attribute();
  ASSERT_EQ(result.jobs.size(), 1u);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t end = 0; end < 2; ++end) {
      ASSERT_TRUE(result.endpoints[i][end]);
      EXPECT_EQ(result.endpoints[i][end]->rank, i == end ? 0 : 1);
      EXPECT_EQ(result.endpoints[i][end]->source, RankSource::kChannel);
      EXPECT_DOUBLE_EQ(result.endpoints[i][end]->confidence, kChannelNic);
    }
  }
  EXPECT_EQ(result.jobs[0].edges.size(), 2u);
}

TEST(ChannelClaims, DoNotTakeTrafficWithoutClearToSends) {
  Facts facts = FactsOf(RingOfTwo());
  Data(facts, 1, 11, 2, 21);
  facts.Paired(1, 12, 2, 22).Sent(1, 2, 22, 3'000'000, 10);
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{0, 1}, std::array{kUnknown, kUnknown}));
}

TEST(ChannelClaims, DoNotTakeTrafficInADirectionWithoutChannel) {
  Facts facts =
      FactsOf({Started(1, 0, 2).Send(0, 1).Parse(), Started(2, 1, 2).Receive(0, 1).Parse()});
  Data(facts, 2, 21, 1, 11);
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{kUnknown, kUnknown}));
}

TEST(ChannelClaims, DependOnTheNicOfTheChannel) {
  Facts facts = FactsOf(
      {Started(1, 0, 2).Send(0, 1, 0, "1").Parse(), Started(2, 1, 2).Receive(0, 1, 0, 1).Parse()});
  Data(facts, 1, 11, 2, 21);
  Data(facts, 101, 11, 102, 21);
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{kUnknown, kUnknown}, std::array{0, 1}));
}

// Channel 0 is between the first NICs, channel 1 between the second: rank 0 sends to rank 2 on the
// former, and rank 1, which uses the same NICs, to rank 3 on the latter.
TEST(ChannelClaims, SeparateRanksOfOneHostByTheirChannels) {
  Facts facts = FactsOf({Started(1, 0, 4, 100).Send(0, 2, 0, "0").Receive(2, 0, 1, 1).Parse(),
                         Started(1, 1, 4, 101).Send(1, 3, 1, "1").Receive(3, 1, 0, 0).Parse(),
                         Started(2, 2, 4, 100).Receive(0, 2, 0, 0).Send(2, 0, 1, "1").Parse(),
                         Started(2, 3, 4, 101).Receive(1, 3, 1, 1).Send(3, 1, 0, "0").Parse()});
  Data(facts, 1, 11, 2, 21);
  Data(facts, 101, 11, 102, 21);
  Data(facts, 2, 31, 1, 31);
  Data(facts, 102, 31, 101, 31);
  EXPECT_THAT(facts.Ranks(),
              ElementsAre(std::array{0, 2}, std::array{1, 3}, std::array{3, 1}, std::array{2, 0}));
}

TEST(ChannelClaims, LeaveTheRankOpenIfSeveralSendFromTheNic) {
  Facts facts =
      FactsOf({Started(1, 0, 3, 100).Send(0, 2).Parse(), Started(1, 1, 3, 101).Send(1, 2).Parse(),
               Started(2, 2, 3).Receive(0, 2).Receive(1, 2).Parse()});
  Data(facts, 1, 11, 2, 21);
  const Attribution result = facts.Attribute();
  ASSERT_TRUE(result.endpoints[0][0] && result.endpoints[0][1]);
  EXPECT_FALSE(result.endpoints[0][0]->IsRankKnown());
  EXPECT_EQ(result.endpoints[0][0]->job, 0u) << "the job is known nevertheless";
  EXPECT_EQ(result.endpoints[0][1]->rank, 2);
  EXPECT_THAT(result.jobs[0].edges, IsEmpty()) << "an edge states both ranks";
  EXPECT_THAT(result.jobs[0].job.notes, Contains(HasSubstr("1 more has no known pair of ranks")));
}

TEST(ChannelClaims, LeaveTheJobOpenIfSeveralUseTheNics) {
  std::vector<NcclLog> logs = RingOfTwo();
  logs.push_back(Started(1, 0, 2, 200, "0xdef", 1).Send(0, 1).Parse());
  logs.push_back(Started(2, 1, 2, 200, "0xdef", 1).Receive(0, 1).Parse());
  Facts facts = FactsOf(logs);
  Data(facts, 1, 11, 2, 21);
  Data(facts, 2, 22, 1, 12);
  const Attribution result = facts.Attribute();
  EXPECT_FALSE(result.endpoints[0][0] || result.endpoints[0][1]);
  EXPECT_TRUE(result.endpoints[1][0] && result.endpoints[1][1]) << "only one job sends back";
}

// The second job runs on the GPUs of the first: its process IDs are higher.
Facts TwoJobsInSuccession() {
  std::vector<NcclLog> logs = RingOfTwo();
  logs.push_back(Started(1, 0, 2, 200, "0xdef").Receive(1, 0).Send(0, 1).Parse());
  logs.push_back(Started(2, 1, 2, 200, "0xdef").Receive(0, 1).Send(1, 0).Parse());
  return FactsOf(logs);
}

std::vector<std::string> ClaimedJobs(const Attribution& attribution) {
  std::vector<std::string> jobs;
  for (const EndClaims& ends : attribution.endpoints) {
    jobs.push_back(ends[0] && ends[1] ? attribution.jobs[ends[0]->job].job.id : "");
  }
  return jobs;
}

TEST(ChannelClaims, TheTimeDecidesBetweenJobsThatUsedTheNicsInSuccession) {
  Facts facts = TwoJobsInSuccession();
  Data(facts, 1, 11, 2, 21).SeenFrom(100, 200);
  Data(facts, 2, 22, 1, 12).SeenFrom(110, 190);
  Data(facts, 1, 31, 2, 41).SeenFrom(210, 300);
  Data(facts, 2, 42, 1, 32).SeenFrom(220, 300);
  const Attribution result = facts.Attribute();
  EXPECT_THAT(ClaimedJobs(result), ElementsAre("nccl-abc", "nccl-abc", "nccl-def", "nccl-def"));
  EXPECT_EQ(result.endpoints[2][0]->rank, 0);
  EXPECT_EQ(result.endpoints[2][1]->rank, 1);
  EXPECT_DOUBLE_EQ(result.endpoints[2][0]->confidence, kChannelPeriod);
}

TEST(ChannelClaims, APeriodThatLastsUntilTheEndIsOfTheLastJob) {
  Facts facts = TwoJobsInSuccession();
  Data(facts, 1, 11, 2, 21).SeenFrom(100, 200);
  Data(facts, 2, 22, 1, 12).SeenFrom(110, 200);
  const Attribution result = facts.Attribute();
  EXPECT_THAT(ClaimedJobs(result), ElementsAre("nccl-def", "nccl-def"));
  EXPECT_DOUBLE_EQ(result.endpoints[0][0]->confidence, kChannelLastPeriod);
}

TEST(ChannelClaims, APeriodThatEndedIsOfNoJobIfThereAreMoreJobs) {
  Facts facts = TwoJobsInSuccession();
  Data(facts, 1, 11, 2, 21).SeenFrom(100, 200);
  facts.Paired(3, 90, 4, 90).SeenFrom(100, 500);
  const Attribution result = facts.Attribute();
  EXPECT_THAT(ClaimedJobs(result), ElementsAre("", ""));
  EXPECT_THAT(result.jobs[0].job.notes,
              Contains(HasSubstr("1 connection can belong to this job or to nccl-def")));
}

// Adds twelve connections from host 1 to host 2.
void DataOfTwelve(Facts& facts, uint32_t first_qpn, int64_t from, int64_t until) {
  for (uint32_t qpn = first_qpn; qpn < first_qpn + 12; ++qpn) {
    Data(facts, 1, qpn, 2, qpn).SeenFrom(from, until);
  }
}

TEST(ChannelClaims, AFewConnectionsMayLastLongerThanTheJob) {
  Facts facts = TwoJobsInSuccession();
  DataOfTwelve(facts, 100, 100, 200);
  facts.SeenFrom(100, 250);
  DataOfTwelve(facts, 200, 220, 400);
  const std::vector<std::string> jobs = ClaimedJobs(facts.Attribute());
  EXPECT_EQ(std::ranges::count(jobs, "nccl-abc"), 12);
  EXPECT_EQ(std::ranges::count(jobs, "nccl-def"), 12);
}

TEST(ChannelClaims, APeriodInWhichManyConnectionsStartAgainIsOfNoJob) {
  Facts facts = TwoJobsInSuccession();
  DataOfTwelve(facts, 100, 100, 300);
  DataOfTwelve(facts, 200, 220, 400);
  EXPECT_EQ(std::ranges::count(ClaimedJobs(facts.Attribute()), ""), 24);
}

// New connections on other paths do not show that another job started.
TEST(ChannelClaims, AJobMayStartToUseOtherPathsLater) {
  Facts facts = TwoJobsInSuccession();
  Data(facts, 1, 11, 2, 21).SeenFrom(100, 200);
  Data(facts, 2, 22, 1, 12).SeenFrom(210, 300);
  EXPECT_THAT(ClaimedJobs(facts.Attribute()), ElementsAre("nccl-def", "nccl-def"));
}

// Packets to one queue pair, of which the other end is unknown, as with sFlow.
TEST(ChannelClaims, IncludeSampledTrafficBetweenNicsWithClearToSends) {
  Facts facts = FactsOf(RingOfTwo());
  facts.OneSided(2, 21, 1).Sent(1, 2, 21, 1'000'000, 50);
  facts.OneSided(1, 11, 2).Asked(2, 1, 11, 50);
  const Attribution result = facts.Attribute();
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{1, 0}, std::array{0, 1}));
  EXPECT_DOUBLE_EQ(result.endpoints[0][0]->confidence, kChannelSampled);
}

// The traffic may be data or clear-to-sends, which gives the same ranks.
TEST(ChannelClaims, IncludeSampledTrafficOfUnknownContent) {
  Facts facts = FactsOf(RingOfTwo());
  facts.OneSided(2, 21, 1).OneSided(2, 22, 101);
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{1, 0}, std::array{kUnknown, kUnknown}));
  EXPECT_DOUBLE_EQ(facts.Attribute().endpoints[0][0]->confidence, kChannelUnmeasured);
}

TEST(ChannelClaims, ClaimOnlyTheJobOfSampledTrafficWithoutClearToSends) {
  Facts facts = FactsOf(RingOfTwo());
  facts.OneSided(2, 21, 1).Sent(1, 2, 21, 1'000'000, 50);
  facts.OneSided(2, 29, 1).Sent(1, 2, 29, 2'000'000, 50);
  facts.OneSided(1, 11, 2).Asked(2, 1, 11, 50);
  const Attribution result = facts.Attribute();
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(result.endpoints[i][0] && result.endpoints[i][1]);
    EXPECT_FALSE(result.endpoints[i][0]->IsRankKnown());
    EXPECT_DOUBLE_EQ(result.endpoints[i][0]->confidence, kChannelNoGrants);
  }
}

TEST(ChannelClaims, NameAPeerWithoutLogWithLessConfidence) {
  Facts facts = FactsOf({Started(1, 0, 2).Send(0, 1).Parse()});
  Data(facts, 1, 11, 2, 21);
  const Attribution result = facts.Attribute();
  ASSERT_TRUE(result.endpoints[0][0] && result.endpoints[0][1]);
  EXPECT_EQ(result.endpoints[0][0]->rank, 0);
  EXPECT_EQ(result.endpoints[0][1]->rank, 1);
  EXPECT_DOUBLE_EQ(result.endpoints[0][1]->confidence, kChannelPeer);
}

TEST(ChannelClaims, LeaveThePeerOpenIfSeveralHaveNoLog) {
  Facts facts = FactsOf({Started(1, 0, 3).Send(0, 1).Send(0, 2).Parse()});
  Data(facts, 1, 11, 2, 21);
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{0, kUnknown}));
}

// Without a topology, the bootstrap address is the only known one.
TEST(ChannelClaims, PlaceRanksByTheirHostIfNoAddressOfTheNicIsKnown) {
  const auto started = [](int host, int rank) {
    LogText log(fmt::format("node{}", host));
    log.Info(fmt::format("NET/IB : Using [0]rxe0:1/RoCE [RO]; OOB eth0:10.0.0.{}<0>", host));
    return log.Begin(rank, 2);
  };
  Facts facts;
  facts.Jobs(GroupJobs(
      std::vector<NcclLog>{started(1, 0).Send(0, 1).Parse(), started(2, 1).Receive(0, 1).Parse()}));
  Data(facts, 1, 11, 2, 21);
  Data(facts, 3, 11, 4, 21);
  const Attribution result = facts.Attribute();
  ASSERT_TRUE(result.endpoints[0][0] && result.endpoints[0][1]);
  EXPECT_EQ(result.endpoints[0][0]->rank, 0);
  EXPECT_EQ(result.endpoints[0][1]->rank, 1);
  EXPECT_DOUBLE_EQ(result.endpoints[0][0]->confidence, kChannelHost);
  EXPECT_FALSE(result.endpoints[1][0] || result.endpoints[1][1]) << "addresses of unknown hosts";
}

TEST(ChannelClaims, IncludeQueuePairsThatCarryTheSameShareOfASplitMessage) {
  Facts facts = FactsOf(RingOfTwo());
  Data(facts, 1, 11, 2, 21);
  facts.Paired(1, 12, 2, 22).Sent(1, 2, 22, 990'000, 50);
  facts.Paired(1, 13, 2, 23).Sent(1, 2, 23, 990'000, 25);
  facts.Paired(1, 14, 2, 24).Sent(1, 2, 24, 700'000, 50);
  EXPECT_THAT(facts.Ranks(),
              ElementsAre(std::array{0, 1}, std::array{0, 1}, std::array{kUnknown, kUnknown},
                          std::array{kUnknown, kUnknown}));
}

void Acknowledge(Facts& facts, int from, int to, uint32_t qpn) {
  facts.OneSided(to, qpn, from);
  facts.Flow(from, to, qpn).class_packets[static_cast<size_t>(OperationClass::kAcknowledge)] = 9;
}

TEST(ChannelClaims, IncludeAcknowledgementsOfAnUnknownQueuePair) {
  Facts facts = FactsOf(RingOfTwo());
  Data(facts, 1, 11, 2, 21);
  Acknowledge(facts, 2, 1, 12);
  Acknowledge(facts, 1, 2, 22);
  EXPECT_THAT(facts.Ranks(),
              ElementsAre(std::array{0, 1}, std::array{0, 1}, std::array{kUnknown, kUnknown}))
      << "no data from host 2 to host 1 was observed";
}

TEST(ChannelClaims, LeaveAcknowledgementsOpenIfOtherTrafficUsesTheNics) {
  Facts facts = FactsOf(RingOfTwo());
  Data(facts, 1, 11, 2, 21);
  facts.Paired(1, 13, 2, 23).Sent(1, 2, 23, 3'000'000, 10);
  Acknowledge(facts, 2, 1, 12);
  EXPECT_EQ(facts.Ranks()[2], (std::array{kUnknown, kUnknown}));
}

TEST(ChannelClaims, DoNotOverruleLogsWithQueuePairs) {
  Facts facts = FactsOf(
      {Started(1, 0, 2).Send(0, 1).Connect(11).Parse(), Started(2, 1, 2).Receive(0, 1).Parse()});
  Data(facts, 1, 77, 2, 21);
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{kUnknown, kUnknown}))
      << "rank 0's log contains the only queue pair on which it sends";
}

// Since 2.22, connections are created after the initialisation, and a channel line can belong to
// any communicator in which the rank has this number.
TEST(ChannelClaims, ThePeersLogIdentifiesTheCommunicator) {
  const auto log = [](int host, uint64_t process, int world_rank, int pair_rank) {
    LogText text = Started(host, world_rank, 4, process);
    text.Complete(world_rank, 4);
    const std::string_view pair = world_rank % 2 == 0 ? "0x10" : "0x20";
    text.Begin(pair_rank, 2, pair, "0x2000").Complete(pair_rank, 2, pair, "0x2000").On(999);
    const std::string_view device = world_rank % 2 == 0 ? "0" : "1";
    return text.Send(pair_rank, 1 - pair_rank, 0, device)
        .Receive(1 - pair_rank, pair_rank, 0, world_rank % 2)
        .Parse();
  };
  // Ranks 0 and 1 on host 1, 2 and 3 on host 2; pairs (0, 2) and (1, 3). Rank 0's line "0 -> 1"
  // could also mean ranks 0 and 1 of all four.
  Facts facts =
      FactsOf({log(1, 100, 0, 0), log(1, 101, 1, 0), log(2, 100, 2, 1), log(2, 101, 3, 1)});
  Data(facts, 1, 11, 2, 21);
  Data(facts, 101, 11, 102, 21);
  Data(facts, 1, 12, 101, 12);
  EXPECT_THAT(facts.Ranks(),
              ElementsAre(std::array{0, 2}, std::array{1, 3}, std::array{kUnknown, kUnknown}));
}

}  // namespace
}  // namespace rocescope
