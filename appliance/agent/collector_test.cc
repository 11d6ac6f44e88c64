// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/collector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "appliance/agent/made_tree.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::string_literals;
using std::chrono::milliseconds;

RdmaQueuePair KernelQp(uint32_t local, uint32_t remote, uint64_t process_id) {
  RdmaQueuePair one;
  one.device = "mlx5_0";
  one.port = 1;
  one.local = Qpn{local};
  one.remote = Qpn{remote};
  one.type = "RC";
  one.state = "RTS";
  one.process_id = process_id;
  return one;
}

class CollectorTest : public testing::Test {
 protected:
  CollectorTest() {
    tree_.Device("mlx5_0", "0000:0000:0000:0000:0000:ffff:c000:020b");
    config_.root = tree_.root();
    config_.nccl_logs = {tree_.root() + "/log/*.log"};
    config_.metrics.files = {};
  }
  void Begin() {
    ASSERT_TRUE(Collector::Check(config_));
    collector_ = std::make_unique<Collector>(config_, buffer_, [this] { return queue_pairs_; });
  }
  // Returns the batches of a pass that starts `after` the previous one.
  std::vector<v1::AgentBatch> Look(milliseconds after = milliseconds(10'000)) {
    now_ += after;
    collector_->Look(now_, WallClock());
    std::vector<v1::AgentBatch> batches;
    while (const auto held = buffer_.After(seen_, milliseconds(0))) {
      seen_ = held->sequence;
      EXPECT_TRUE(batches.emplace_back().ParseFromString(held->bytes));
      EXPECT_GT(batches.back().read_ns(), 0);
    }
    return batches;
  }
  static std::string KindOf(const v1::AgentBatch& batch) {
    return batch.has_inventory()       ? "inventory"
           : batch.has_queue_pairs()   ? "queue pairs"
           : batch.has_processes()     ? "processes"
           : batch.caught_up()         ? "caught up"
           : batch.counters_size() > 0 ? "counters"
           : batch.logs_size() > 0     ? "logs"
                                       : "";
  }
  static std::vector<std::string> KindsOf(const std::vector<v1::AgentBatch>& batches) {
    std::vector<std::string> kinds;
    for (const v1::AgentBatch& batch : batches) kinds.push_back(KindOf(batch));
    return kinds;
  }

  test::MadeTree tree_;
  AgentConfig config_;
  BatchBuffer buffer_{4 << 20};
  Result<std::vector<RdmaQueuePair>> queue_pairs_;
  std::unique_ptr<Collector> collector_;
  Collector::Clock::time_point now_ = Collector::Clock::now();
  uint64_t seen_ = 0;
};

TEST_F(CollectorTest, ReportsStatesWhenTheyChange) {
  queue_pairs_->push_back(KernelQp(20, 30, 4100));
  tree_.File("proc/4100/environ", "RANK=2\0SLURM_JOB_ID=77\0HOME=/root\0"s);
  tree_.File("proc/4100/comm", "python\n");
  config_.counters = false;
  Begin();
  const auto first = Look();
  ASSERT_THAT(KindsOf(first), ElementsAre("inventory", "processes", "queue pairs", "caught up"));
  EXPECT_EQ(first[0].inventory().devices(0).ports(0).addresses(0), "192.0.2.11");
  const v1::HostProcess& process = first[1].processes().processes(0);
  EXPECT_EQ(process.rank(), 2);
  EXPECT_FALSE(process.has_local_rank());
  EXPECT_EQ(process.scheduler_job_id(), 77u);
  EXPECT_EQ(process.command(), "python");
  const v1::QueuePairGroup& group = first[2].queue_pairs().groups(0);
  EXPECT_EQ(group.command(), "python");
  EXPECT_THAT(group.local_qpns(), ElementsAre(20));
  EXPECT_THAT(group.remote_qpns(), ElementsAre(30));
  EXPECT_THAT(Look(), IsEmpty());
  // In another order, and with one more queue pair of the same process.
  queue_pairs_->insert(queue_pairs_->begin(), KernelQp(21, 31, 4100));
  const auto more = Look();
  ASSERT_THAT(KindsOf(more), ElementsAre("queue pairs"));
  ASSERT_EQ(more[0].queue_pairs().groups_size(), 1);
  EXPECT_THAT(more[0].queue_pairs().groups(0).local_qpns(), ElementsAre(20, 21));
}

TEST_F(CollectorTest, QueuePairsFitTheMessageLimit) {
  for (uint32_t i = 1; i <= 200'000; ++i) queue_pairs_->push_back(KernelQp(i, i, 4100));
  config_.counters = false;
  Begin();
  for (const v1::AgentBatch& batch : Look()) EXPECT_LT(batch.ByteSizeLong(), 1u << 20);
  EXPECT_THAT(collector_->Problems(), ElementsAre(HasSubstr("queue pairs are not reported")));
  queue_pairs_->resize(100'000);
  Look();
  EXPECT_THAT(collector_->Problems(), IsEmpty());
}

TEST_F(CollectorTest, ProcessesFitTheMessageLimit) {
  const std::string gpus = "GPU-" + std::string(1000, 'a');
  for (uint32_t i = 1; i <= 2000; ++i) {
    queue_pairs_->push_back(KernelQp(i, i, 4000 + i));
    tree_.File(fmt::format("proc/{}/environ", 4000 + i), "CUDA_VISIBLE_DEVICES=" + gpus + "\0"s);
  }
  config_.counters = false;
  Begin();
  const auto batches = Look();
  ASSERT_THAT(KindsOf(batches), ElementsAre("inventory", "processes", "queue pairs", "caught up"));
  EXPECT_LT(batches[1].ByteSizeLong(), BatchBuffer::kLargest);
  EXPECT_GT(batches[1].processes().processes_size(), 800);
  EXPECT_THAT(collector_->Problems(),
              ElementsAre(testing::MatchesRegex("1[0-9]+ processes are not reported: .*")));
}

TEST_F(CollectorTest, MetricsAndLogsOfAnyNameFitTheMessageLimit) {
  std::string metrics;
  // Lines with names that are too long or not UTF-8 are ignored.
  for (int i = 0; i < 10'000; ++i) {
    const std::string names[] = {std::string(128, 'p'), std::string(5000, 'p'), "\xff"};
    metrics += fmt::format("fabric_nic_rx_bytes{{node=\"a\",port=\"{}\"}} 1\n",
                           names[i < 9000 ? 0 : 1 + i % 2]);
  }
  tree_.File("metrics.prom", metrics);
  tree_.File("log/\xff.log", "node0:1:1 [0] NCCL INFO one\n");
  config_.counters = false;
  config_.metrics.files = {tree_.root() + "/metrics.prom"};
  Begin();
  int counters = 0;
  for (const v1::AgentBatch& batch : Look()) {
    EXPECT_LT(batch.ByteSizeLong(), BatchBuffer::kLargest);
    counters += batch.counters_size();
    for (const v1::LogLines& lines : batch.logs()) {
      EXPECT_THAT(lines.path(), testing::EndsWith("/log/?.log"));
    }
  }
  EXPECT_EQ(counters, 9000);
}

TEST_F(CollectorTest, ReportsCountersAtTheirInterval) {
  Begin();
  Look();
  tree_.Counter("mlx5_0", "hw_counters/np_cnp_sent", 8);
  const auto batches = Look(milliseconds(1000));
  ASSERT_THAT(KindsOf(batches), ElementsAre("counters"));
  const v1::EntityCounters& counters = batches[0].counters(0);
  EXPECT_EQ(counters.kind(), "nic");
  EXPECT_EQ(counters.port(), "mlx5_0");
  const auto at = std::ranges::find(counters.metrics(), "np_cnp_sent");
  ASSERT_NE(at, counters.metrics().end());
  EXPECT_EQ(counters.values(static_cast<int>(at - counters.metrics().begin())), 8u);
  EXPECT_THAT(Look(milliseconds(10)), IsEmpty()) << "not due yet";
}

TEST_F(CollectorTest, ReportsNcclLogLines) {
  tree_.File("log/a.log", "step 1\nnode0:1:1 [0] NCCL INFO one\n");
  config_.counters = false;
  Begin();
  const auto first = Look();
  ASSERT_THAT(KindsOf(first),
              ElementsAre("inventory", "processes", "queue pairs", "logs", "caught up"))
      << "queue pairs precede logs";
}

TEST_F(CollectorTest, ReadsALogLargerThanTheBufferAsItIsAcknowledged) {
  constexpr size_t kLines = 200'000;
  std::string text;
  for (size_t i = 0; i < kLines; ++i) text += fmt::format("node0:1:1 [0] NCCL INFO line {}\n", i);
  ASSERT_GT(text.size(), size_t{6} << 20) << "the buffer has 4 MiB";
  tree_.File("log/a.log", text);
  Begin();
  for (int i = 0; i < 20; ++i) collector_->Look(now_ += milliseconds(500), WallClock());
  EXPECT_LT(collector_->logs().lines, kLines) << "the appliance has acknowledged nothing";
  size_t lines = 0;
  bool caught_up = false;
  for (int i = 0; i < 20; ++i) {
    for (const v1::AgentBatch& batch : Look(milliseconds(50))) {
      EXPECT_FALSE(caught_up && batch.logs_size() > 0);
      caught_up = caught_up || batch.caught_up();
      for (const v1::LogLines& one : batch.logs()) lines += std::ranges::count(one.text(), '\n');
    }
    buffer_.Take(seen_);
  }
  EXPECT_EQ(lines, kLines);
  EXPECT_TRUE(caught_up);
  EXPECT_EQ(buffer_.counts().lost_batches, 0u);
}

TEST_F(CollectorTest, ReportsProgramMetricsAsThisHosts) {
  tree_.File("metrics.prom",
             "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
             "DCGM_FI_DEV_GPU_UTIL{gpu=\"3\",Hostname=\"container7\"} 93\n"
             "fabric_port_rx_bytes{node=\"leaf0\",port=\"Ethernet1\"} 1\n"
             "train_step_seconds 0.5\n");
  config_.counters = false;
  config_.metrics.files = {tree_.root() + "/metrics.prom", tree_.root() + "/none.prom"};
  Begin();
  std::vector<v1::AgentBatch> batches = Look();
  std::erase_if(batches, [](const auto& batch) { return KindOf(batch) != "counters"; });
  ASSERT_EQ(batches.size(), 1u);
  ASSERT_EQ(batches[0].counters_size(), 1) << "a host reports no switch counters";
  EXPECT_EQ(batches[0].counters(0).kind(), "gpu");
  EXPECT_EQ(batches[0].counters(0).gpu_index(), 3u);
  EXPECT_THAT(batches[0].counters(0).metrics(), ElementsAre("gpu_utilisation"));
  EXPECT_THAT(collector_->Problems(), ElementsAre(HasSubstr("none.prom")));
}

TEST_F(CollectorTest, ReportsUnreadableSources) {
  queue_pairs_ = MakeError(ErrorCode::kPermissionDenied, "permission denied");
  Begin();
  Look();
  EXPECT_THAT(collector_->Problems(), ElementsAre("permission denied"));
  queue_pairs_ = MakeError(ErrorCode::kUnimplemented, "the kernel has no RDMA support");
  Look();
  EXPECT_THAT(collector_->Problems(), IsEmpty());
}

TEST_F(CollectorTest, WarnsOncePerSettingThatMatchesNothing) {
  const std::string root = tree_.root();
  tree_.File("log/a.log", "").File("a.prom", "").File("sys/class/net/eth0/speed", "1\n");
  config_.nccl_logs = {root + "/log/*.log"};
  config_.metrics.files = {root + "/a.prom"};
  config_.interfaces = {"eth0"};
  EXPECT_THAT(Collector::MissingSources(config_), IsEmpty());
  config_.nccl_logs = {root + "/log/*.txt", root + "/log/*.log", root + "/lo[g]"};
  config_.metrics.files.push_back(root + "/b.prom");
  config_.interfaces.push_back("eth9");
  EXPECT_THAT(Collector::MissingSources(config_),
              ElementsAre(HasSubstr("`nccl_logs`: no file matches " + root + "/log/*.txt, " + root +
                                    "/lo[g];"),
                          HasSubstr("`metrics.files`: there is no file " + root + "/b.prom;"),
                          HasSubstr("`interfaces`: there is no interface eth9;")))
      << "a directory is not a log";
  config_ = {.root = root + "/log"};
  EXPECT_THAT(Collector::MissingSources(config_),
              ElementsAre(HasSubstr("`root`: the directory " + root + "/log contains neither")));
}

TEST_F(CollectorTest, AcceptsOnlyExportersOnThisHost) {
  for (const char* host : {"127.0.0.1", "127.8.9.10", "localhost"}) {
    config_.metrics.urls = {fmt::format("http://{}:9400/metrics", host)};
    EXPECT_TRUE(Collector::Check(config_)) << host;
  }
  for (const char* host : {"10.0.0.7", "127.evil.example", "127.0.0.1.example", "128.0.0.1"}) {
    config_.metrics.urls = {fmt::format("http://{}:9400/metrics", host)};
    const Status checked = Collector::Check(config_);
    ASSERT_FALSE(checked) << host;
    EXPECT_THAT(checked.error().message,
                HasSubstr(fmt::format("http://{}:9400/metrics: not on this host", host)));
  }
}

}  // namespace
}  // namespace rocescope
