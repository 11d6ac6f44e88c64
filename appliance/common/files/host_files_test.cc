// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/host_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rocescope {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kQueuePair =
    R"([{"ifname":"mlx5_0","port":1,"lqpn":37,"rqpn":38,"type":"RC","state":"RTS","pid":100}])";

// Output of NCCL 2.20 for a rank's initialisation.
std::string LogOf(int rank) {
  const std::string frame = "node" + std::to_string(rank) + ":100:200 [0] NCCL INFO ";
  return frame + "comm 0x1 rank " + std::to_string(rank) +
         " nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xabc - Init START\n" + frame +
         "comm 0x1 rank " + std::to_string(rank) +
         " nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xabc - Init COMPLETE\n";
}

class HostFilesTest : public testing::Test {
 protected:
  HostFilesTest() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) /
              ("rocescope_" + std::string(test.name()) + "_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  ~HostFilesTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string Write(const std::string& name, std::string_view text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  std::string Folder(const std::string& name) { return (folder_ / name).string(); }

  // The host name that is derived from the name of a dump.
  std::string HostOf(const std::string& name) {
    const Result<HostFiles> files = ReadHostFiles({.rdma = {Write(name, kQueuePair)}});
    return files && files->facts.rdma.size() == 1 ? files->facts.rdma[0].host : "(none)";
  }

 private:
  fs::path folder_;
};

TEST_F(HostFilesTest, GroupsTheLogsOfOneJob) {
  const Result<HostFiles> files =
      ReadHostFiles({.nccl_logs = {Write("a.log", LogOf(0)), Write("b.log", LogOf(1))}});
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->facts.jobs.size(), 1u);
  ASSERT_EQ(files->facts.jobs[0].ranks.size(), 2u);
  EXPECT_EQ(files->facts.jobs[0].ranks[1].host, "node1");
  EXPECT_THAT(files->notes, IsEmpty());
}

TEST_F(HostFilesTest, ReadsADirectoryWithoutSubdirectories) {
  Write("logs/a.log", LogOf(0));
  Write("logs/b.log", LogOf(1));
  Write("logs/old/c.log", LogOf(1));
  const Result<HostFiles> files = ReadHostFiles({.nccl_logs = {Folder("logs")}});
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->facts.jobs.size(), 1u);
  EXPECT_EQ(files->facts.jobs[0].ranks.size(), 2u);
  EXPECT_EQ(files->facts.jobs[0].ranks[1].source, Folder("logs/b.log"));
}

TEST_F(HostFilesTest, ReadsTheDumpsOfADirectoryByName) {
  Write("rdma/node2.json", kQueuePair);
  Write("rdma/node1.json", kQueuePair);
  const Result<HostFiles> files = ReadHostFiles({.rdma = {Folder("rdma")}});
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->facts.rdma.size(), 2u);
  EXPECT_EQ(files->facts.rdma[0].host, "node1");
  EXPECT_EQ(files->facts.rdma[1].host, "node2");
  ASSERT_EQ(files->facts.rdma[0].queue_pairs.size(), 1u);
  EXPECT_EQ(files->facts.rdma[0].queue_pairs[0].local, Qpn{37});
}

TEST_F(HostFilesTest, TakesTheHostFromTheNameOfADump) {
  EXPECT_EQ(HostOf("node0.json"), "node0");
  EXPECT_EQ(HostOf("node0.example.net.txt"), "node0.example.net");
  EXPECT_EQ(HostOf("10.0.0.5.json"), "10.0.0.5");
  EXPECT_EQ(HostOf("10.0.0.5"), "10.0.0.5");
  EXPECT_EQ(HostOf("fd00::5.log"), "fd00::5");
  EXPECT_EQ(HostOf("node\xff.json"), "node?");
}

TEST_F(HostFilesTest, RemovesTheTimeFromTheNameOfADump) {
  EXPECT_EQ(HostOf("node0.1750000000000000000.json"), "node0");
  EXPECT_EQ(HostOf("10.0.0.5.1750000000000000000.json"), "10.0.0.5");
}

TEST_F(HostFilesTest, ReadsSchedulerListings) {
  const std::string slurm = Write(
      "slurm.json", R"({"jobs": [{"job_id": 7, "job_state": "RUNNING", "nodes": "n[1-2]"}]})");
  const std::string wrong = Write("wrong.json", "JOBID");
  const Result<HostFiles> files = ReadHostFiles({.slurm = {slurm, wrong}});
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->facts.allocations.size(), 1u);
  EXPECT_EQ(files->facts.allocations[0].nodes.size(), 2u);
  EXPECT_THAT(files->notes, ElementsAre(HasSubstr(wrong + ": invalid JSON at byte 1")));
}

TEST_F(HostFilesTest, MergesAJobOfSeveralListings) {
  const auto job = [](const char* state, int start, const char* nodes) {
    return fmt::format(
        R"({{"jobs": [{{"job_id": 7, "job_state": "{}", "start_time": {}, "nodes": "{}"}}]}})",
        state, start, nodes);
  };
  const std::string ended = Write("1.json", job("COMPLETED", 100, "n[1-2]"));
  const std::string running = Write("2.json", job("RUNNING", 100, "n[1-2]"));
  const std::string again = Write("3.json", job("RUNNING", 200, "n[1-2]"));  // requeued
  // Another cluster's job.
  const std::string other = Write("4.json", job("RUNNING", 100, "n[3-4]"));
  const auto states = [](const std::vector<std::string>& paths) {
    std::vector<AllocationState> result;
    const Result<HostFiles> files = ReadHostFiles({.slurm = paths});
    for (const Allocation& one : files->facts.allocations) {
      result.push_back(one.state);
    }
    return result;
  };
  EXPECT_THAT(states({running, running}), ElementsAre(AllocationState::kHeld));
  EXPECT_THAT(states({running, ended}), ElementsAre(AllocationState::kEnded));
  EXPECT_THAT(states({ended, running}), ElementsAre(AllocationState::kEnded)) << "in any order";
  EXPECT_THAT(states({ended, again, other}), SizeIs(3));
}

TEST_F(HostFilesTest, NamesTheFileThatIsMissing) {
  const std::string missing = Folder("missing.log");
  for (const Result<HostFiles>& files :
       {ReadHostFiles({.nccl_logs = {missing}}), ReadHostFiles({.rdma = {missing}}),
        ReadHostFiles({.slurm = {missing}})}) {
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(files.error().message, HasSubstr(missing));
  }
}

TEST_F(HostFilesTest, ReportsAFileWithoutNcclMessages) {
  const std::string path = Write("train.log", "epoch 1\nepoch 2\n");
  const Result<HostFiles> files = ReadHostFiles({.nccl_logs = {path}});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(files->facts.jobs, IsEmpty());
  EXPECT_THAT(files->notes, ElementsAre(HasSubstr(path + ": no NCCL messages")));
}

TEST_F(HostFilesTest, ReportsFileAndLineOfMalformedInput) {
  const std::string log =
      Write("a.log", LogOf(0) +
                         "node0:100:200 [0] NCCL INFO comm 0x2 rank 5 nranks 2 cudaDev 0 nvmlDev "
                         "0 busId 1b000 commId 0xabd - Init START\n");
  const std::string dump = Write("node0.json", R"([{"ifname":"mlx5_0","lqpn":)");
  const Result<HostFiles> files = ReadHostFiles({.nccl_logs = {log}, .rdma = {dump}});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(files->notes,
              ElementsAre(HasSubstr(log + ":3: expected"), HasSubstr(dump + ": line 1")));
}

TEST_F(HostFilesTest, ReportsALogWithoutRanks) {
  const std::string path =
      Write("a.log", "node0:100:200 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>\n");
  const Result<HostFiles> files = ReadHostFiles({.nccl_logs = {path}});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(files->notes,
              ElementsAre(HasSubstr(path + ": 1 NCCL messages, but none contains a rank")));
}

TEST_F(HostFilesTest, IgnoresCapturesInADirectory) {
  using namespace std::string_view_literals;
  Write("job/a.log", LogOf(0));
  Write("job/a.pcap", "\x4d\x3c\xb2\xa1\x02\x00"sv);
  Write("job/b.pcapng", "\x0a\x0d\x0d\x0a\x1c\x00"sv);
  Write("job/c.pcap.gz", "\x1f\x8b\x08\x00"sv);
  Write("job/short", "\xa1");
  const Result<HostFiles> files = ReadHostFiles({.nccl_logs = {Folder("job")}});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->facts.jobs.size(), 1u);
  EXPECT_THAT(files->notes, ElementsAre(HasSubstr("short: no NCCL messages")));
}

TEST_F(HostFilesTest, NotesAnEmptyDirectory) {
  fs::create_directories(Folder("empty"));
  const Result<HostFiles> files =
      ReadHostFiles({.nccl_logs = {Folder("empty")}, .rdma = {Folder("empty")}});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(files->facts.jobs, IsEmpty());
  EXPECT_THAT(files->facts.rdma, IsEmpty());
  EXPECT_THAT(files->notes,
              ElementsAre(HasSubstr("empty: the directory has no file for --nccl-logs"),
                          HasSubstr("empty: the directory has no file for --rdma")));
}

}  // namespace
}  // namespace rocescope
