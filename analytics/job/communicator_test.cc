// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <span>

#include "analytics/job/host_name.h"
#include "dataplane/host/nccl_log_builder.h"

namespace rocescope {
namespace {

using test::LogText;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A rank of a ring, as a separate process on its own host.
LogText RingRank(int rank, int rank_count, std::string_view comm_id = "0xabc") {
  LogText text(fmt::format("node{}", rank), 100 + rank);
  text.Info(fmt::format("Bootstrap : Using eth0:10.0.0.{}<0>", rank + 1));
  text.Begin(rank, rank_count, comm_id).Send(rank, (rank + 1) % rank_count);
  return text.Connect(40 + rank).Complete(rank, rank_count, comm_id);
}

std::vector<NcclLog> Ring(int rank_count) {
  std::vector<NcclLog> logs;
  for (int rank = 0; rank < rank_count; ++rank) logs.push_back(RingRank(rank, rank_count).Parse());
  return logs;
}

TEST(HostName, MatchesTruncatedNames) {
  EXPECT_TRUE(SameHost("gpu-7", "gpu-7.rack2.example"));
  EXPECT_TRUE(SameHost("GPU-7.rack2.example.", "gpu-7.rack2"));
  EXPECT_FALSE(SameHost("gpu-7", "gpu-70"));
  EXPECT_FALSE(SameHost("gpu-7.rack1.example", "gpu-7.rack2.example"));
  EXPECT_FALSE(SameHost("", "gpu-7"));
}

TEST(Jobs, OfOneCommunicatorHaveItsRanks) {
  const std::vector<Job> jobs = GroupJobs(Ring(3));
  ASSERT_EQ(jobs.size(), 1u);
  const Job& job = jobs[0];
  EXPECT_EQ(job.id, "nccl-abc");
  EXPECT_EQ(job.rank_count, 3);
  EXPECT_EQ(job.ranks_seen, 3);
  EXPECT_THAT(job.notes, IsEmpty());
  ASSERT_EQ(job.ranks.size(), 3u);
  const JobRank& last = job.ranks[2];
  EXPECT_EQ(last.rank, 2);
  EXPECT_EQ(last.host, "node2");
  EXPECT_EQ(last.process_id, 102u);
  EXPECT_EQ(last.gpu_bus_id, "0000:1b:00.0");
  EXPECT_EQ(ToString(*last.oob_address), "10.0.0.3");
  ASSERT_EQ(last.queue_pairs.size(), 1u);
  EXPECT_EQ(last.queue_pairs[0].local, Qpn{42});
  EXPECT_EQ(last.queue_pairs[0].peer, (JobPeer{.own_rank = 2, .peer_rank = 0}));
  EXPECT_EQ(last.queue_pairs[0].communicator, 0);
  EXPECT_EQ(last.queue_pairs[0].mtu, 1024u);
}

TEST(Jobs, DoNotDependOnTheOrderOfLogs) {
  std::vector<NcclLog> logs = Ring(4);
  const std::vector<Job> forward = GroupJobs(logs);
  std::ranges::reverse(logs);
  const std::vector<Job> backward = GroupJobs(logs);
  ASSERT_EQ(forward.size(), 1u);
  ASSERT_EQ(backward.size(), 1u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(forward[0].ranks[i].host, backward[0].ranks[i].host);
    EXPECT_EQ(forward[0].ranks[i].queue_pairs[0].peer, backward[0].ranks[i].queue_pairs[0].peer);
  }
}

TEST(Jobs, TheirNetDevicesConsistOfTheMergedPorts) {
  LogText log = LogText().Begin(0, 2);
  log.Info(
      "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [2]mlx5_10:1/RoCE [RO]; OOB "
      "eth0:10.9.0.1<0>");
  log.Info("NET/IB : Made virtual device [3] name=mlx5_0+mlx5_10 speed=1 ndevs=2");
  const std::vector<NcclLog> logs = {log.Send(0, 1, 0, "3").Send(0, 1, 1, "1").Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  const NicPort first = {.device = "mlx5_0", .port = 1};
  const NicPort second = {.device = "mlx5_1", .port = 1};
  const NicPort third = {.device = "mlx5_10", .port = 1};
  EXPECT_EQ(jobs[0].ranks[0].net_devices.at(3), (std::vector{first, third}));
  EXPECT_EQ(jobs[0].ranks[0].net_devices.at(1), std::vector{second});
  EXPECT_EQ(jobs[0].ranks[0].ports, (std::vector{first, second, third}));
}

// Visiting all 80,000 virtual devices for each of the 80,000 channels took 12 s when it was
// measured.
TEST(Jobs, CanHaveManyVirtualDevicesAndChannels) {
  constexpr size_t kMany = 80'000;
  NcclLog log = LogText().Begin(0, 2).Parse();
  NcclProcess& process = log.processes[0];
  process.virtual_devices.resize(kMany, {.net_device = 8, .name = "mlx5_0"});
  process.channels.resize(
      kMany,
      {.source_rank = 0, .destination_rank = 1, .is_send = true, .net = "IB", .net_device = 7});
  for (size_t i = 0; i < kMany; ++i) process.channels[i].line = 10 + i;
  const std::clock_t start = std::clock();
  const std::vector<Job> jobs = GroupJobs(std::span(&log, 1));
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(jobs[0].ranks[0].channels.size(), kMany);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 3) << "processor time";
#else
  static_cast<void>(seconds);
#endif
}

TEST(Jobs, ChannelsOfUnknownCommunicatorsShareTheirRanks) {
  LogText log;
  for (uint64_t i = 0; i < 3; ++i) {
    log.On(10 + i).Begin(0, 2, fmt::format("{:#x}", i + 1), fmt::format("{:#x}", i + 1));
  }
  const std::vector<NcclLog> logs = {log.On(99).Send(0, 1, 0).Send(0, 1, 1).Parse()};
  const std::vector<JobChannel> channels = GroupJobs(logs)[0].ranks[0].channels;
  ASSERT_EQ(channels.size(), 2u);
  EXPECT_EQ(channels[0].possible.size(), 3u);
  EXPECT_EQ(&channels[0].possible[0], &channels[1].possible[0]);  // the same object
}

TEST(Jobs, WithoutACommonCommunicatorAreSeparate) {
  const std::vector<NcclLog> logs = {RingRank(0, 2, "0x1").Parse(), RingRank(1, 2, "0x1").Parse(),
                                     LogText("other", 7).Begin(0, 1, "0x2").Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].id, "nccl-1");  // largest first
  EXPECT_EQ(jobs[1].id, "nccl-2");
}

TEST(Jobs, ReportMissingRanks) {
  std::vector<NcclLog> logs = Ring(8);
  logs.erase(logs.begin() + 3, logs.begin() + 6);
  logs.erase(logs.begin());
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ranks_seen, 4);
  EXPECT_THAT(jobs[0].notes, ElementsAre("no NCCL log for ranks 0, 3-5 of 8"));
  // Rank 2 sends to rank 3, whether or not rank 3 has a log.
  EXPECT_EQ(jobs[0].ranks[1].queue_pairs[0].peer.peer_rank, 3);
}

TEST(Jobs, ReportIncompleteInitialisation) {
  const std::vector<NcclLog> logs = {RingRank(0, 2).Parse(),
                                     LogText("node1", 101).Begin(1, 2).Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_FALSE(jobs[0].communicators[0].is_complete);
  EXPECT_THAT(jobs[0].notes, ElementsAre("rank 1 of nccl-abc did not complete the initialisation"));
}

TEST(Jobs, CountALogGivenTwiceOnce) {
  std::vector<NcclLog> logs = Ring(2);
  logs.push_back(RingRank(1, 2).Parse());
  logs.back().source_name = "again.log";
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ranks.size(), 2u);
  EXPECT_EQ(jobs[0].ranks[1].queue_pairs.size(), 1u);
  EXPECT_THAT(jobs[0].notes,
              ElementsAre("node1:101 is also in node1.log; the copy in again.log is used"));
}

TEST(Jobs, PreferTheFullerCopyOfALog) {
  std::vector<NcclLog> logs = {RingRank(0, 2).Parse(),
                               LogText("node0.cluster.example", 100).Begin(0, 2).Parse(),
                               RingRank(1, 2).Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ranks.size(), 2u);
  EXPECT_EQ(jobs[0].ranks[0].queue_pairs.size(), 1u);
}

TEST(Jobs, SeparateProcessesWithTheSameName) {
  // Two containers with the same host name and process ID.
  const std::vector<NcclLog> logs = {
      LogText("pod", 1).Begin(0, 2, "0xa").Complete(0, 2, "0xa").Parse(),
      LogText("pod", 1).Begin(1, 2, "0xa").Complete(1, 2, "0xa").Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ranks_seen, 2);
  EXPECT_THAT(jobs[0].notes, ElementsAre(HasSubstr("different processes")));
}

TEST(Jobs, ReportDuplicateRanks) {
  const std::vector<NcclLog> logs = {LogText("a", 1).Begin(0, 2).Complete(0, 2).Parse(),
                                     LogText("b", 1).Begin(0, 2).Complete(0, 2).Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ranks_seen, 1);
  EXPECT_THAT(jobs[0].notes,
              testing::Contains("rank 0 of nccl-abc is claimed by a:1 (a.log) and b:1 (b.log); "
                                "the first is used"));
}

// --- Splits ---

std::string Split(int rank, int rank_count, int color, std::string_view ordinal = "") {
  return fmt::format(
      "ncclCommSplit comm 0x2000 rank {} nranks {} cudaDev 0 nvmlDev 0 busId 1b000 "
      "parent 0x1000{} color {} key 0- Init START",
      rank, rank_count, ordinal, color);
}

std::vector<NcclLog> SplitWorld(std::string_view ordinal) {
  std::vector<NcclLog> logs;
  for (int rank = 0; rank < 4; ++rank) {
    LogText text(fmt::format("node{}", rank), 1);
    text.Begin(rank, 4).Complete(rank, 4);
    // Odd and even ranks are split; each sends to the other one of its kind.
    text.Info(Split(rank / 2, 2, rank % 2, ordinal)).Send(rank / 2, 1 - rank / 2).Connect(50);
    logs.push_back(text.Parse());
  }
  return logs;
}

TEST(Splits, AreJoinedThroughParentAndColor) {
  for (const std::string_view ordinal : {"", " splitCount 1", " childCount 1"}) {
    const std::vector<Job> jobs = GroupJobs(SplitWorld(ordinal));
    ASSERT_EQ(jobs.size(), 1u);
    const Job& job = jobs[0];
    ASSERT_EQ(job.communicators.size(), 3u);
    EXPECT_EQ(job.communicators[0].id, job.id);
    for (size_t c = 1; c < 3; ++c) {
      EXPECT_EQ(job.communicators[c].rank_count, 2);
      EXPECT_EQ(job.communicators[c].parent_id, job.id);
      EXPECT_EQ(job.communicators[c].members.size(), 2u);
    }
    EXPECT_NE(job.communicators[1].id, job.communicators[2].id);
    // Rank 1 of the job is rank 0 of the odd ones, whose rank 1 is rank 3 of the job.
    const JobQueuePair& queue_pair = job.ranks[1].queue_pairs.at(0);
    EXPECT_EQ(queue_pair.peer, (JobPeer{.own_rank = 1, .peer_rank = 3}));
    EXPECT_EQ(job.communicators[queue_pair.communicator].color, 1);
  }
}

TEST(Splits, WithAnUnknownParentStaySeparate) {
  const std::vector<Job> jobs = GroupJobs(std::vector{LogText().Info(Split(0, 2, 0)).Parse()});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_THAT(jobs[0].notes, testing::Contains(HasSubstr("does not contain the parent")));
}

TEST(Jobs, BeforeCommIdsAreMatchedBySize) {
  std::vector<NcclLog> logs;
  for (int rank = 0; rank < 2; ++rank) {
    logs.push_back(LogText(fmt::format("node{}", rank))
                       .Info(fmt::format("comm 0x1 rank {} nranks 2 cudaDev 0 busId 1b000 - Init "
                                         "COMPLETE",
                                         rank))
                       .Parse());
  }
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ranks_seen, 2);
  EXPECT_TRUE(jobs[0].communicators[0].matched_by_size);
  EXPECT_THAT(jobs[0].notes, ElementsAre(HasSubstr("no commId")));
}

// --- PXN ---

TEST(Jobs, GiveAProxiedConnectionToTheRankItServes) {
  // On one host, rank 1 sends to rank 3 through rank 0, which itself only receives.
  const std::vector<NcclLog> logs = {
      LogText("host", 10)
          .Begin(0, 4)
          .Info("comm 0x1000 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0")
          .Info("New proxy send connection 0 from local rank 1, transport 2")
          .Connect(60)
          .Complete(0, 4)
          .Parse(),
      LogText("host", 11).Begin(1, 4).Send(1, 3, 0, "0(0)/GDRDMA").Complete(1, 4).Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  const JobQueuePair& queue_pair = jobs[0].ranks.at(0).queue_pairs.at(0);
  EXPECT_EQ(queue_pair.local, Qpn{60});
  EXPECT_EQ(queue_pair.certainty, PeerCertainty::kExact);
  EXPECT_EQ(queue_pair.peer, (JobPeer{.own_rank = 1, .peer_rank = 3}));
  EXPECT_THAT(jobs[0].ranks.at(1).queue_pairs, IsEmpty());
}

TEST(Jobs, ShareOneProcessWithSeveralGpus) {
  const NcclLog log = LogText("host", 10)
                          .On(1, 0)
                          .Begin(0, 2, "0xabc", "0x1")
                          .Complete(0, 2, "0xabc", "0x1")
                          .On(2, 1)
                          .Begin(1, 2, "0xabc", "0x2")
                          .Complete(1, 2, "0xabc", "0x2")
                          .Parse();
  const std::vector<Job> jobs = GroupJobs(std::span(&log, 1));
  ASSERT_EQ(jobs.size(), 1u);
  ASSERT_EQ(jobs[0].ranks.size(), 2u);
  EXPECT_EQ(jobs[0].ranks[0].cuda_device, 0);
  EXPECT_EQ(jobs[0].ranks[1].cuda_device, 1);
  EXPECT_EQ(jobs[0].ranks[1].process_id, 10u);
}

TEST(Jobs, RecordTheSendersToARank) {
  const std::vector<NcclLog> logs = {
      LogText("node1").Begin(1, 4).Receive(3, 1).Receive(0, 1).Receive(3, 1, 1).Send(1, 2).Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  ASSERT_EQ(jobs[0].ranks.size(), 1u);
  EXPECT_EQ(jobs[0].ranks[0].receives_from, (std::vector<int>{0, 3}));
}

// Two GPUs of a host share its NIC; the out-of-band network is separate. A ring enters the host at
// rank 0 and leaves it at rank 1, which alone prints a queue pair.
std::vector<NcclLog> HostWithTwoGpus() {
  const std::string nic = "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.9.0.1<0>";
  return {LogText("host", 10).Info(nic).Begin(0, 4).Receive(3, 0).Complete(0, 4).Parse(),
          LogText("host", 11).Info(nic).Begin(1, 4).Send(1, 2).Connect(40).Complete(1, 4).Parse()};
}

TEST(Jobs, GiveANicsAddressToEveryRankOfItsHostThatUsesIt) {
  const std::vector<Job> jobs = GroupJobs(HostWithTwoGpus());
  ASSERT_EQ(jobs.size(), 1u);
  for (const JobRank& rank : jobs[0].ranks) {
    EXPECT_THAT(rank.addresses, ElementsAre(*ParseIpAddress("10.0.0.1"))) << rank.rank;
    EXPECT_TRUE(rank.addresses_complete);
  }
}

TEST(Jobs, DoNotGiveANicsAddressToARankThatUsesAnother) {
  std::vector<NcclLog> logs = HostWithTwoGpus();
  logs.push_back(LogText("host", 12)
                     .Info("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
                           "eth0:10.9.0.1<0>")
                     .Begin(2, 4)
                     .Receive(1, 2, 0, 1)
                     .Complete(2, 4)
                     .Parse());
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.at(0).ranks.size(), 3u);
  EXPECT_THAT(jobs[0].ranks[2].addresses, IsEmpty());
  EXPECT_THAT(jobs[0].ranks[2].ports, ElementsAre(NicPort{.device = "mlx5_1", .port = 1}));
  EXPECT_FALSE(jobs[0].ranks[2].addresses_complete);
}

TEST(Jobs, GiveAReceiversQueuePairTheAddressOfItsNic) {
  std::vector<NcclLog> logs = HostWithTwoGpus();
  logs[0] = LogText("host", 10)
                .Info("NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.9.0.1<0>")
                .Begin(0, 4)
                .Receive(3, 0)
                .Info(
                    "NET/IB: ncclIbAccept: QP created: port=1 dev=0 devName=mlx5_0 ndevs=1 "
                    "nmdevs=1 qp_num=70 pkey=0 pd=0x1")
                .Complete(0, 4)
                .Parse();
  const std::vector<Job> jobs = GroupJobs(logs);
  const JobQueuePair& queue_pair = jobs.at(0).ranks.at(0).queue_pairs.at(0);
  EXPECT_EQ(queue_pair.local, Qpn{70});
  EXPECT_EQ(queue_pair.address, *ParseIpAddress("10.0.0.1"));
}

// Rank 0 of the world is also rank 0 of a split; later connections, made by another thread, do not
// identify their communicator.
std::vector<NcclLog> WorldAndSplit(int color_of_rank_1) {
  std::vector<NcclLog> logs;
  for (int rank = 0; rank < 4; ++rank) {
    const int color = color_of_rank_1 == 0 ? 0 : rank % 2;
    const int split_rank = color_of_rank_1 == 0 ? rank : rank / 2;
    const std::string split = fmt::format(
        "ncclCommSplit comm 0x2000 rank {} nranks {} cudaDev 0 nvmlDev 0 busId 1b000 "
        "parent 0x1000 splitCount 1 color {} key 0",
        split_rank, color_of_rank_1 == 0 ? 4 : 2, color);
    LogText text(fmt::format("node{}", rank), 1);
    text.On(1).Begin(rank, 4).Complete(rank, 4);
    text.On(2).Info(split + "- Init START").Info(split + " - Init COMPLETE");
    if (rank == 0) text.On(3).Send(0, 1).On(4).Connect(39);
    logs.push_back(text.Parse());
  }
  return logs;
}

TEST(Jobs, KeepAPeerAmbiguousThatDependsOnTheCommunicator) {
  const std::vector<Job> jobs = GroupJobs(WorldAndSplit(1));
  const JobQueuePair& queue_pair = jobs.at(0).ranks.at(0).queue_pairs.at(0);
  EXPECT_EQ(queue_pair.certainty, PeerCertainty::kAmbiguous);
  EXPECT_EQ(queue_pair.peer.peer_rank, -1);
  ASSERT_NE(queue_pair.candidates, nullptr);
  EXPECT_THAT(*queue_pair.candidates, ElementsAre(JobPeer{.own_rank = 0, .peer_rank = 1},
                                                  JobPeer{.own_rank = 0, .peer_rank = 2}));
}

TEST(Jobs, ResolveAPeerThatIsEqualInAllCommunicators) {
  const std::vector<Job> jobs = GroupJobs(WorldAndSplit(0));
  const JobQueuePair& queue_pair = jobs.at(0).ranks.at(0).queue_pairs.at(0);
  EXPECT_EQ(queue_pair.certainty, PeerCertainty::kExact);
  EXPECT_EQ(queue_pair.peer, (JobPeer{.own_rank = 0, .peer_rank = 1}));
}

TEST(Jobs, DistinguishProcessesOutsideTheNumbering) {
  const std::vector<NcclLog> logs = {
      LogText("a", 1)
          .Begin(0, 2, "0xa", "0x1")
          .Complete(0, 2, "0xa", "0x1")
          .Begin(0, 2, "0xb", "0x2")
          .Send(0, 1)
          .Connect(40)
          .Complete(0, 2, "0xb", "0x2")
          .Parse(),
      LogText("b", 2).Begin(1, 2, "0xa").Complete(1, 2, "0xa").Parse(),
      LogText("c", 3).Begin(1, 2, "0xb").Complete(1, 2, "0xb").Parse()};
  const std::vector<Job> jobs = GroupJobs(logs);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].ranks_seen, 2);
  ASSERT_EQ(jobs[0].ranks.size(), 3u);
  EXPECT_EQ(jobs[0].ranks[2].host, "c");
  EXPECT_EQ(jobs[0].ranks[0].queue_pairs.at(0).peer, (JobPeer{.own_rank = 0, .peer_member = 2}));
}

}  // namespace
}  // namespace rocescope
