// SPDX-License-Identifier: BSD-3-Clause
// Reads the host files of simulated jobs with the parsers for real files, and compares lines with
// the format strings of each NCCL release.
#include "sim/emit/host_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analytics/job/communicator.h"
#include "dataplane/host/nccl_log.h"
#include "dataplane/host/rdma_resource.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kReleases[] = {"2.14", "2.18", "2.20", "2.22", "2.24", "2.27", "2.30"};

// Four hosts with two NICs and two GPUs each.
topology::Fabric MakeFabric() {
  topology::Fabric::Parts parts =
      topology::GenerateParts({.hosts = 4, .nics_per_host = 2, .leaves = 2, .spines = 2}).value();
  for (topology::Gpu& gpu : parts.gpus) gpu.pci = gpu.number == 0 ? "0000:17:00.0" : "0001:9a:00.1";
  return topology::Fabric::Make(std::move(parts)).value();
}

// Eight ranks with one GPU each, in a world communicator and in two groups of four: the first GPUs
// and the second GPUs of all hosts. Each has one ring; the world has two queue pairs per
// connection.
LoggedJob MakeJob(const topology::Fabric& fabric, bool split) {
  LoggedJob job{
      .id = 4242, .name = "pretrain", .start = FromNanoseconds(1'750'000'000'000'000'000)};
  LoggedCommunicator world{.id = 0xfaa2a2b8f05d5e5};
  LoggedCommunicator groups[2];
  for (uint32_t i = 0; i < 8; ++i) {
    job.ranks.push_back(
        {.gpu = i, .process_id = 5000 + i % 2, .cuda_device = i % 2, .nvml_device = i % 2});
    world.ranks.push_back(i);
    groups[i % 2].ranks.push_back(i);
  }
  job.communicators.push_back(world);
  for (int color = 0; color < 2; ++color) {
    groups[color].id = 0x1000u + static_cast<uint32_t>(color);
    groups[color].color = color;
    if (split) groups[color].parent = 0;
    job.communicators.push_back(groups[color]);
  }
  std::map<topology::NicIndex, uint32_t> next_qpn;
  for (uint32_t c = 0; c < job.communicators.size(); ++c) {
    const auto& ranks = job.communicators[c].ranks;
    for (uint32_t from = 0; from < ranks.size(); ++from) {
      const auto to = static_cast<uint32_t>((from + 1) % ranks.size());
      const auto nic = [&](uint32_t rank) { return fabric.gpu(job.ranks[ranks[rank]].gpu).nic; };
      if (fabric.nic(nic(from)).host == fabric.nic(nic(to)).host) continue;
      LoggedConnection connection{.communicator = c,
                                  .from = from,
                                  .to = to,
                                  .sender = nic(from),
                                  .receiver = nic(to),
                                  .fifo_rkey = 0x5e00 + 16 * c + from};
      for (int q = 0; q < (c == 0 ? 2 : 1); ++q) {
        const auto qpn = [&](topology::NicIndex of) { return Qpn{0x48 + next_qpn[of]++}; };
        connection.queue_pairs.push_back(
            {.sender = qpn(connection.sender), .receiver = qpn(connection.receiver)});
      }
      job.connections.push_back(std::move(connection));
    }
  }
  return job;
}

// The rkey of the clear-to-send FIFO.
bool HasRkey(std::string_view release) { return release != "2.14" && release != "2.18"; }

class HostFilesTest : public ::testing::Test {
 protected:
  std::string Log(std::string_view release, uint32_t rank, bool split = false) const {
    return RenderNcclLog(fabric_, split ? split_job_ : job_, rank,
                         FindNcclRelease(release).value());
  }

  const topology::Fabric fabric_ = MakeFabric();
  const LoggedJob job_ = MakeJob(fabric_, false);
  const LoggedJob split_job_ = MakeJob(fabric_, true);
};

TEST_F(HostFilesTest, EveryReleasesLogsMakeOneJobWithAllItsRanks) {
  for (const std::string_view release : kReleases) {
    for (const bool split : {false, true}) {
      SCOPED_TRACE(std::string(release) + (split ? " with splits" : ""));
      std::vector<NcclLog> logs;
      for (uint32_t rank = 0; rank < 8; ++rank) {
        logs.push_back(ParseNcclLog(Log(release, rank, split), std::to_string(rank)));
        EXPECT_EQ(logs.back().malformed, 0u);
        EXPECT_EQ(logs.back().processes.size(), 1u);
      }
      const std::vector<Job> jobs = GroupJobs(logs);
      ASSERT_EQ(jobs.size(), 1u);
      const Job& job = jobs[0];
      EXPECT_EQ(job.rank_count, 8);
      EXPECT_EQ(job.ranks_seen, 8);
      // Before 2.16, logs do not name communicators. With two communicators of the same size, no
      // log shows which one a process is in, so all eight stay separate.
      EXPECT_EQ(job.communicators.size(), release == "2.14" ? 9u : 3u);
      EXPECT_THAT(job.nccl_version, HasSubstr(std::string(release) + "."));
      for (uint32_t rank = 0; rank < 8; ++rank) {
        EXPECT_EQ(job.ranks[rank].rank, static_cast<int>(rank));
        EXPECT_EQ(job.ranks[rank].host, "host" + std::to_string(rank / 2));
        EXPECT_EQ(job.ranks[rank].process_id, 5000 + rank % 2);
        EXPECT_EQ(job.ranks[rank].gpu_bus_id, rank % 2 == 0 ? "0000:17:00.0" : "0001:9a:00.1");
      }
    }
  }
}

TEST_F(HostFilesTest, DefaultLogsContainChannelsButNoQueuePairs) {
  for (const std::string_view release : kReleases) {
    SCOPED_TRACE(release);
    const std::string text = RenderNcclLog(fabric_, job_, 1, FindNcclRelease(release).value(),
                                           NcclLogContent::kChannels);
    // Lines of the subsystem NET alone. The others are lines of INIT, or of INIT and NET.
    for (const std::string_view line : {"NET/IB: ", "New proxy", "Made virtual device"}) {
      EXPECT_THAT(text, testing::Not(HasSubstr(line)));
    }
    const NcclLog reduced = ParseNcclLog(text, "1");
    const NcclLog whole = ParseNcclLog(Log(release, 1), "1");
    ASSERT_EQ(reduced.processes.size(), 1u);
    EXPECT_EQ(reduced.malformed, 0u);
    EXPECT_TRUE(reduced.processes[0].queue_pairs.empty());
    EXPECT_FALSE(reduced.processes[0].channels.empty());
    EXPECT_EQ(reduced.processes[0].channels.size(), whole.processes[0].channels.size());
    EXPECT_EQ(reduced.processes[0].communicators.size(), whole.processes[0].communicators.size());
    EXPECT_EQ(reduced.processes[0].devices.size(), whole.processes[0].devices.size());
  }
}

TEST_F(HostFilesTest, EveryReleasesLogsTellTheSendersQueuePairsAndTheirPeers) {
  for (const std::string_view release : kReleases) {
    SCOPED_TRACE(release);
    std::vector<NcclLog> logs;
    for (uint32_t rank = 0; rank < 8; ++rank) {
      logs.push_back(ParseNcclLog(Log(release, rank), std::to_string(rank)));
    }
    const std::vector<Job> jobs = GroupJobs(logs);
    ASSERT_EQ(jobs.size(), 1u);
    std::map<std::pair<IpAddress, Qpn>, const JobQueuePair*> senders;
    for (const JobRank& rank : jobs[0].ranks) {
      for (const JobQueuePair& queue_pair : rank.queue_pairs) {
        EXPECT_EQ(queue_pair.device, rank.rank % 2 == 0 ? "mlx5_0" : "mlx5_1");
        if (!queue_pair.is_sender) continue;
        EXPECT_EQ(queue_pair.mtu, 4096u);
        ASSERT_TRUE(queue_pair.address);
        senders[{*queue_pair.address, queue_pair.local}] = &queue_pair;
      }
    }
    size_t expected = 0;
    size_t ambiguous = 0;
    for (const LoggedConnection& connection : job_.connections) {
      const auto peer =
          static_cast<int>(job_.communicators[connection.communicator].ranks[connection.to]);
      for (const auto& queue_pair : connection.queue_pairs) {
        ++expected;
        const IpAddress address = fabric_.nic(connection.sender).addresses[0].address;
        const auto found = senders.find({address, queue_pair.sender});
        ASSERT_NE(found, senders.end()) << ToString(address) << " " << queue_pair.sender.value;
        EXPECT_EQ(found->second->fifo_rkey, HasRkey(release) ? connection.fifo_rkey : 0u);
        if (found->second->peer.peer_rank >= 0) {
          EXPECT_EQ(found->second->peer.peer_rank, peer);
        } else {
          ++ambiguous;
        }
      }
    }
    EXPECT_EQ(senders.size(), expected);
    // From 2.22 on, connections are made after the communicators are ready: a line of ranks 0 and 1
    // may belong to the world or to a group in which the sender is rank 0 too. In 2.14, groups look
    // like one communicator.
    EXPECT_LE(ambiguous, release == "2.14" ? 8u : 1u);
  }
}

// Host 0 is the fifth node, after the switches. The GID of 10.1.0.1 is ::ffff:a01:1. Its lower half
// in little-endian order is 0x0100010affff0000.
TEST_F(HostFilesTest, LinesAreThoseOfTheRelease) {
  EXPECT_THAT(Log("2.14", 1),
              HasSubstr("host0:5001:5020 [1] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE "
                        "[1]mlx5_1:1/RoCE [RO]; OOB eth0:192.168.0.5<0>\n"));
  EXPECT_THAT(Log("2.14", 1), HasSubstr(" NCCL INFO NET/IB: Dev 1 Port 1 qpn 72 mtu 5 GID 3 "
                                        "(0/100010AFFFF0000)\n"));
  EXPECT_THAT(Log("2.14", 1), HasSubstr("[1] NCCL INFO Channel 00/0 : 1[19a001] -> 2[17000] [send] "
                                        "via NET/IB/1/GDRDMA\n"));
  EXPECT_THAT(Log("2.14", 1), HasSubstr(" NCCL INFO comm 0x550138900000 rank 1 nranks 8 cudaDev 1 "
                                        "busId 19a001 - Init COMPLETE\n"));
  EXPECT_THAT(Log("2.14", 1), Not(HasSubstr("Init START")));

  EXPECT_THAT(Log("2.20", 1),
              HasSubstr(" NCCL INFO comm 0x550138900000 rank 1 nranks 8 cudaDev 1 nvmlDev 1 busId "
                        "19a001 commId 0xfaa2a2b8f05d5e5 - Init START\n"));
  EXPECT_THAT(Log("2.20", 1),
              HasSubstr(" NCCL INFO comm 0x550138900000 rank 1 nRanks 8 nNodes 4 localRanks 2 "
                        "localRank 1 MNNVL 0\n"));
  EXPECT_THAT(Log("2.20", 1),
              HasSubstr(" NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/1/GDRDMA\n"));
  EXPECT_THAT(Log("2.20", 1),
              HasSubstr(" NCCL INFO NET/IB: NCCL Dev 1 IbDev 1 Port 1 qpn 72 mtu 5 "
                        "query_ece={supported=1, vendor_id=0x15b3, options=0x30000002, "
                        "comp_mask=0x0} GID 3 (0/100010AFFFF0000) fifoRkey=0x5e01 "
                        "fifoLkey=0x5e01\n"));

  EXPECT_THAT(Log("2.27", 1),
              HasSubstr(" NCCL INFO NET/IB: NCCL Dev 1 IbDev 1 Port 1 qpn 72 mtu 5 GID 3 "
                        "(0/100010AFFFF0000) fifoRkey=0x5e01 fifoLkey=0x5e01\n"));
  EXPECT_THAT(Log("2.27", 1),
              HasSubstr(" NCCL INFO ncclCommInitRank comm 0x550138900000 rank 1 nranks 8 cudaDev 1 "
                        "nvmlDev 1 busId 19a001 commId 0xfaa2a2b8f05d5e5 - Init COMPLETE\n"));

  EXPECT_THAT(Log("2.30", 1),
              HasSubstr(": QP created: port=1 dev=1 devName=mlx5_1 ndevs=1 nmdevs=1 qp_num=72 "
                        "pkey=65535 pd="));
  EXPECT_THAT(Log("2.30", 1),
              HasSubstr(": NCCL Dev 1 IbDev 1 Port 1 qp_num 72 mtu 5 GID 3 (0/100010AFFFF0000) "
                        "ctsFifoRkey=0x5e01 ctsFifoLkey=0x5e01\n"));
  EXPECT_THAT(Log("2.30", 1, true),
              HasSubstr(" NCCL INFO [Rank 0] ncclCommSplit comm 0x550138902000 rank 0 nranks 4 "
                        "cudaDev 1 nvmlDev 1 busId 19a001 parent 0x550138900000 childCount 1 color "
                        "1 key 0- Init START\n"));
}

TEST_F(HostFilesTest, AnUnknownReleaseIsAnErrorThatNamesTheOthers) {
  const auto release = FindNcclRelease("2.7");
  ASSERT_FALSE(release);
  EXPECT_THAT(release.error().message, HasSubstr("expected one of 2.14, 2.18, 2.20"));
}

TEST_F(HostFilesTest, TheKernelListsBothEndsOfEveryPair) {
  const std::vector<LoggedQueuePair> others = {{.nic = 0,
                                                .local = Qpn{500},
                                                .remote = Qpn{501},
                                                .process_id = 77,
                                                .command = "ib_write_bw"}};
  std::multiset<std::tuple<std::string, std::string, uint32_t, uint32_t, uint64_t>> read;
  for (topology::NodeIndex host = 0; host < fabric_.nodes().size(); ++host) {
    if (fabric_.node(host).IsSwitch()) continue;
    const RdmaResource resource =
        ParseRdmaResource(RenderRdma(fabric_, host, std::span(&job_, 1), others));
    EXPECT_THAT(resource.notes, IsEmpty());
    EXPECT_EQ(resource.malformed, 0u);
    size_t management = 0;
    for (const RdmaQueuePair& queue_pair : resource.queue_pairs) {
      EXPECT_EQ(queue_pair.state, "RTS");
      EXPECT_EQ(queue_pair.port, 1);
      if (queue_pair.type == "GSI") {
        ++management;
        EXPECT_FALSE(queue_pair.process_id);
        continue;
      }
      read.insert({fabric_.node(host).name, queue_pair.device, queue_pair.local.value,
                   queue_pair.remote.value_or(Qpn{}).value, queue_pair.process_id.value_or(0)});
    }
    EXPECT_EQ(management, 2u);
  }
  decltype(read) expected = {{"host0", "mlx5_0", 500, 501, 77}};
  for (const LoggedConnection& connection : job_.connections) {
    const auto& ranks = job_.communicators[connection.communicator].ranks;
    const auto add = [&](topology::NicIndex nic, uint32_t rank, Qpn local, Qpn remote) {
      expected.insert({fabric_.node(fabric_.nic(nic).host).name, fabric_.nic(nic).device,
                       local.value, remote.value, job_.ranks[ranks[rank]].process_id});
    };
    for (const auto& each : connection.queue_pairs) {
      add(connection.sender, connection.from, each.sender, each.receiver);
      add(connection.receiver, connection.to, each.receiver, each.sender);
    }
  }
  EXPECT_EQ(read, expected);
}

TEST_F(HostFilesTest, TheSchedulerTellsNodesAndGpus) {
  const auto json = nlohmann::json::parse(RenderSlurm(fabric_, std::span(&job_, 1)));
  const auto& job = json.at("jobs").at(0);
  EXPECT_EQ(job.at("job_id"), 4242);
  EXPECT_EQ(job.at("nodes"), "host[0-3]");
  EXPECT_EQ(job.at("start_time"), 1'750'000'000);
  EXPECT_EQ(job.at("gres_detail").at(3), "gpu:2(IDX:0-1)");
}

// The fields of squeue for jobs that wait, run and have ended.
TEST_F(HostFilesTest, TheSchedulerShowsHowJobsEnd) {
  const int64_t start = 1'750'000'000;
  std::vector<LoggedJob> jobs(4, job_);
  for (LoggedJob& job : jobs) job.time_limit = std::chrono::hours(2);
  jobs[0].state = LoggedState::kPending;
  jobs[2].state = LoggedState::kCompleted;
  jobs[2].completed = job_.start + std::chrono::minutes(30);
  jobs[3].state = LoggedState::kTimeout;
  const auto json = nlohmann::json::parse(RenderSlurm(fabric_, jobs)).at("jobs");
  EXPECT_EQ(json[0].at("job_state"), "PENDING");
  EXPECT_EQ(json[0].at("nodes"), "");
  EXPECT_TRUE(json[0].at("job_resources").empty());
  EXPECT_EQ(json[1].at("job_state"), "RUNNING");
  EXPECT_EQ(json[1].at("time_limit"), 120);
  EXPECT_EQ(json[1].at("end_time"), start + 7200);  // when the time limit ends it
  EXPECT_EQ(json[2].at("job_state"), "COMPLETED");
  EXPECT_EQ(json[2].at("end_time"), start + 1800);
  EXPECT_EQ(json[3].at("job_state"), "TIMEOUT");
  EXPECT_EQ(json[3].at("state_reason"), "TimeLimit");
  EXPECT_EQ(json[3].at("end_time"), start + 7200);
  EXPECT_EQ(json[3].at("nodes"), "host[0-3]");
}

TEST_F(HostFilesTest, FilesHaveTheNamesThatReadersLookFor) {
  const std::string directory = ::testing::TempDir() + "simulated_host_files";
  std::filesystem::create_directories(directory);
  ASSERT_TRUE(WriteHostFiles(directory, fabric_, std::span(&job_, 1), {},
                             {.nccl = FindNcclRelease("2.27").value(),
                              .rdma_time = FromNanoseconds(1'750'000'000'000'000'000)}));
  EXPECT_TRUE(std::filesystem::exists(directory + "/nccl/host3-5001.log"));
  EXPECT_TRUE(std::filesystem::exists(directory + "/rdma/host0.1750000000000000000.json"));
  EXPECT_TRUE(std::filesystem::exists(directory + "/slurm.json"));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace rocescope::sim
