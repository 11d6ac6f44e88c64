// SPDX-License-Identifier: BSD-3-Clause
// Jobs of NCCL 2.14, whose logs do not identify their communicators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "analytics/job/communicator.h"
#include "analytics/job/host_facts_builder.h"
#include "dataplane/host/nccl_log_builder.h"

namespace rocescope {
namespace {

using test::LogText;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// A process on "node<host>" with its NIC at 10.0.0.<host>.
class Process {
 public:
  explicit Process(int host, int number = 0)
      : host_(host), text_(fmt::format("node{}", host), 100 + static_cast<uint64_t>(number)) {
    text_.Info("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.168.0.1<0>");
  }
  // A communicator without traffic.
  Process& World(int rank, int rank_count, int gpu = 0) {
    Complete(1, rank, rank_count, gpu);
    return *this;
  }
  // A communicator in which it sends to `peer` on this queue pair.
  Process& Sending(int rank, int rank_count, int peer, int qpn) {
    text_.Info(
        fmt::format("Channel 00/0 : {}[1b000] -> {}[1b000] [send] via NET/IB/0", rank, peer));
    text_.Info(
        fmt::format("NET/IB: Dev 0 Port 1 qpn {} mtu 5 GID 3 (0/{:X}00000AFFFF0000)", qpn, host_));
    text_.Info(fmt::format("comm 0x2 rank {} nranks {} cudaDev 0 busId 1b000 - Init COMPLETE", rank,
                           rank_count));
    return *this;
  }
  // The same without queue pairs (NCCL_DEBUG=INFO without the subsystem NET).
  Process& SendingOnChannel(int rank, int rank_count, int peer, int gpu = 0) {
    text_.Info(
        fmt::format("Channel 00/0 : {}[1b000] -> {}[1b000] [send] via NET/IB/{}", rank, peer, gpu));
    Complete(2, rank, rank_count, gpu);
    return *this;
  }
  operator NcclLog() const { return text_.Parse(); }

 private:
  void Complete(int communicator, int rank, int rank_count, int gpu) {
    text_.Info(fmt::format("comm {:#x} rank {} nranks {} cudaDev 0 busId {:x} - Init COMPLETE",
                           communicator, rank, rank_count, 0x1b000 + 0x1000 * gpu));
  }

  int host_;
  LogText text_;
};

QueuePairMeeting Meeting(int host, uint32_t qpn, int peer) {
  return {.address = test::Address(host), .qpn = Qpn{qpn}, .peer = test::Address(peer)};
}

// The processes of each job by rank, as host and number: "1:0 2:0".
std::vector<std::string> RanksOf(const std::vector<NcclLog>& logs, JobEvidence evidence = {}) {
  std::ranges::sort(evidence.meetings);
  std::vector<std::string> all;
  for (const Job& job : GroupJobs(logs, evidence)) {
    std::string& text = all.emplace_back();
    for (const JobRank& rank : job.ranks) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", rank.host.substr(4),
                          rank.process_id - 100);
    }
  }
  return all;
}

// Two jobs of two ranks: hosts 1 and 2, and hosts 3 and 4.
std::vector<NcclLog> TwoPairs() {
  return {Process(1).Sending(0, 2, 1, 70), Process(2).Sending(1, 2, 0, 70),
          Process(3).Sending(0, 2, 1, 70), Process(4).Sending(1, 2, 0, 70)};
}

TEST(SizedCommunicators, AreSeparatedByTheirPeers) {
  EXPECT_THAT(RanksOf(TwoPairs(), {.meetings = {Meeting(1, 70, 2), Meeting(3, 70, 4)}}),
              UnorderedElementsAre("1:0 2:0", "3:0 4:0"));
  EXPECT_THAT(RanksOf(TwoPairs(), {.meetings = {Meeting(1, 70, 4), Meeting(2, 70, 3)}}),
              UnorderedElementsAre("1:0 4:0", "3:0 2:0"));
}

std::vector<HostNic> NicsOfFourHosts() {
  std::vector<HostNic> nics;
  for (int host = 1; host <= 4; ++host) {
    nics.push_back({.host = fmt::format("node{}", host),
                    .device = "mlx5_0",
                    .addresses = {test::Address(host)}});
  }
  return nics;
}

TEST(SizedCommunicators, AreSeparatedByTheNicsThatExchangeData) {
  const std::vector<NcclLog> logs = {
      Process(1).SendingOnChannel(0, 2, 1), Process(2).SendingOnChannel(1, 2, 0),
      Process(3).SendingOnChannel(0, 2, 1), Process(4).SendingOnChannel(1, 2, 0)};
  const std::vector<HostNic> nics = NicsOfFourHosts();
  const auto ranks = [&](int a, int b, int c, int d) {
    return RanksOf(
        logs, {.ways = {{test::Address(a), test::Address(b)}, {test::Address(c), test::Address(d)}},
               .nics = nics});
  };
  EXPECT_THAT(ranks(1, 2, 3, 4), UnorderedElementsAre("1:0 2:0", "3:0 4:0"));
  EXPECT_THAT(ranks(1, 4, 3, 2), UnorderedElementsAre("1:0 4:0", "3:0 2:0"));
  EXPECT_THAT(ranks(1, 2, 1, 4), UnorderedElementsAre("1:0", "2:0", "3:0", "4:0"))
      << "host 1 sends to both hosts with the peer's rank";
}

TEST(SizedCommunicators, JoinTheRemainingMembers) {
  EXPECT_THAT(RanksOf(TwoPairs(), {.meetings = {Meeting(4, 70, 3)}}),
              UnorderedElementsAre("1:0 2:0", "3:0 4:0"));
}

TEST(SizedCommunicators, WithoutEvidenceStaySeparate) {
  EXPECT_THAT(RanksOf(TwoPairs()), UnorderedElementsAre("1:0", "2:0", "3:0", "4:0"));
  const std::vector<Job> jobs = GroupJobs(TwoPairs());
  EXPECT_TRUE(CouldBeParted(jobs));
  for (const Job& job : jobs) EXPECT_EQ(job.rank_count, 2);
}

TEST(SizedCommunicators, WithoutTwoProcessesOfOneRankAreOne) {
  const std::vector<NcclLog> logs = {Process(1).Sending(0, 2, 1, 70),
                                     Process(2).Sending(1, 2, 0, 70)};
  EXPECT_THAT(RanksOf(logs), ElementsAre("1:0 2:0"));
  EXPECT_FALSE(CouldBeParted(GroupJobs(logs)));
}

TEST(SizedCommunicators, AreSeparatedByTheScheduler) {
  const JobEvidence evidence = {.allocation_of = [](const NcclProcess& process) {
    return std::optional<uint32_t>(process.host == "node1" || process.host == "node4" ? 7 : 8);
  }};
  EXPECT_THAT(RanksOf(TwoPairs(), evidence), UnorderedElementsAre("1:0 4:0", "3:0 2:0"));
}

TEST(SizedCommunicators, PreferTrafficToTheScheduler) {
  const JobEvidence evidence = {
      .meetings = {Meeting(1, 70, 2), Meeting(3, 70, 4)},
      .allocation_of = [](const NcclProcess& process) {
        return std::optional<uint32_t>(process.host == "node1" || process.host == "node4" ? 7 : 8);
      }};
  EXPECT_THAT(RanksOf(TwoPairs(), evidence), UnorderedElementsAre("1:0 2:0", "3:0 4:0"));
}

// Two jobs of four ranks, two on each of two hosts, which communicate only along rails: their world
// communicators have no traffic, and the rails' communicators all look alike.
std::vector<NcclLog> Rails() {
  std::vector<NcclLog> logs;
  for (const int first_host : {1, 3}) {
    for (int rank = 0; rank < 4; ++rank) {
      const int host = rank / 2;
      logs.push_back(Process(first_host + host, rank % 2)
                         .World(rank, 4)
                         .Sending(host, 2, 1 - host, 70 + rank % 2));
    }
  }
  return logs;
}

TEST(SizedCommunicators, WithoutTrafficFollowThoseOfTheirProcessesAndHosts) {
  const std::vector<std::string> ranks =
      RanksOf(Rails(), {.meetings = {Meeting(1, 70, 2), Meeting(1, 71, 2), Meeting(3, 70, 4)}});
  EXPECT_THAT(ranks, UnorderedElementsAre("1:0 1:1 2:0 2:1", "3:0 3:1 4:0 4:1"));
}

TEST(SizedCommunicators, OfOneHostAreThoseOfEvenlyNumberedRanks) {
  EXPECT_THAT(RanksOf(Rails()), UnorderedElementsAre("1:0 1:1", "2:0 2:1", "3:0 3:1", "4:0 4:1"));
}

TEST(SizedCommunicators, OfARestartedJobAreThoseOfTheSameStart) {
  const std::vector<NcclLog> logs = {Process(1, 0).World(0, 2), Process(2, 1).World(1, 2),
                                     Process(1, 6).World(0, 2), Process(2, 8).World(1, 2)};
  EXPECT_THAT(RanksOf(logs), UnorderedElementsAre("1:0 2:1", "1:6 2:8"));
}

// The communicators of its rails all look alike, and both starts use the same addresses.
TEST(SizedCommunicators, OfTheRailsOfARestartedJobFollowItsStarts) {
  std::vector<NcclLog> logs;
  for (const int start : {0, 4}) {
    for (int rank = 0; rank < 4; ++rank) {
      const int host = 1 + rank / 2;
      logs.push_back(Process(host, start + rank % 2)
                         .World(rank, 4, rank % 2)
                         .SendingOnChannel(rank / 2, 2, 1 - rank / 2, rank % 2));
    }
  }
  std::vector<HostNic> nics;
  for (int host = 1; host <= 2; ++host) {
    for (int rail = 0; rail < 2; ++rail) {
      nics.push_back({.host = fmt::format("node{}", host),
                      .device = fmt::format("mlx5_{}", rail),
                      .addresses = {test::Address(10 * rail + host)}});
    }
  }
  std::vector<std::pair<IpAddress, IpAddress>> ways;
  for (const int rail : {0, 10}) {
    ways.emplace_back(test::Address(rail + 1), test::Address(rail + 2));
    ways.emplace_back(test::Address(rail + 2), test::Address(rail + 1));
  }
  std::ranges::sort(ways);
  const JobEvidence evidence = {.ways = ways, .nics = nics};
  EXPECT_THAT(RanksOf(logs, evidence), UnorderedElementsAre("1:0 1:1 2:0 2:1", "1:4 1:5 2:4 2:5"));
  for (const Job& job : GroupJobs(logs, evidence)) {
    ASSERT_EQ(job.communicators.size(), 3u) << "the world and two rails";
    for (const JobCommunicator& rail : std::span(job.communicators).subspan(1)) {
      EXPECT_EQ(rail.members.size(), 2u);
    }
  }
}

// 2:0 and 2:1 are both rank 1 of a pair and share a NIC.
TEST(SizedCommunicators, StaySeparateIfTwoProcessesAtTheAddressHaveTheRank) {
  const std::vector<NcclLog> logs = {
      Process(1, 0).Sending(0, 2, 1, 70), Process(3, 0).Sending(0, 2, 1, 70),
      Process(2, 0).Sending(1, 2, 0, 70), Process(2, 1).Sending(1, 2, 0, 71)};
  EXPECT_THAT(RanksOf(logs, {.meetings = {Meeting(1, 70, 2)}}),
              UnorderedElementsAre("1:0", "3:0", "2:0", "2:1"));
  // The receivers' queue pairs distinguish them: each connects to one of the two hosts.
  EXPECT_THAT(RanksOf(logs, {.meetings = {Meeting(2, 70, 3), Meeting(2, 71, 1)}}),
              UnorderedElementsAre("1:0 2:1", "3:0 2:0"));
}

TEST(SizedCommunicators, DoNotDependOnTheOrderOfLogs) {
  std::vector<NcclLog> logs = Rails();
  const JobEvidence evidence = {
      .meetings = {Meeting(1, 70, 2), Meeting(1, 71, 2), Meeting(3, 70, 4)}};
  const std::vector<std::string> forward = RanksOf(logs, evidence);
  const std::string id = GroupJobs(logs, evidence)[0].id;
  std::ranges::reverse(logs);
  EXPECT_EQ(RanksOf(logs, evidence), forward);
  EXPECT_EQ(GroupJobs(logs, evidence)[0].id, id);
}

}  // namespace
}  // namespace rocescope
