// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/intake/agent_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/host/nccl_log_builder.h"
#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Timestamp kNow = FromNanoseconds(1'700'000'000'000'000'000);

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
    lines.set_log_id(log);
    lines.set_path("/var/log/nccl.log");
    lines.set_text(text);
    return Add(batch, session, host);
  }
  bool CaughtUp(uint64_t session) {
    v1::AgentBatch batch;
    batch.set_caught_up(true);
    return Add(batch, session);
  }
  // The known rank, or -1.
  int Rank() {
    const auto jobs = GroupJobs(builder.Facts().logs);
    return jobs.size() == 1 && jobs[0].ranks.size() == 1 ? jobs[0].ranks[0].rank : -1;
  }

  // The number of read lines of each session's logs.
  std::vector<size_t> LinesOfLogs() {
    std::vector<size_t> lines;
    for (const auto& log : builder.Facts().logs) lines.push_back(log->lines);
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
  EXPECT_EQ(facts.builder.Facts().logs, all.logs) << "no line has arrived since";
  ASSERT_EQ(all.logs.size(), 1u);
  EXPECT_EQ(all.logs[0]->source_name, "gpu-7:/var/log/nccl.log");
  EXPECT_EQ(all.logs[0]->lines, 2u);
  facts.Log(test::LogText("gpu-7").Complete(3, 8).text());
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(3));
  EXPECT_EQ(all.logs[0]->lines, 2u) << "published facts do not change";
}

TEST(AgentFacts, ANewSessionReplacesTheOldOnceItHasCaughtUp) {
  Facts facts;
  facts.Log(test::LogText("gpu-7").Begin(3, 8).text(), 1);
  facts.CaughtUp(1);
  facts.Log(test::LogText("gpu-7").Begin(5, 8).text(), 2);
  EXPECT_EQ(facts.Rank(), 3) << "the new session has not caught up yet";
  EXPECT_TRUE(facts.CaughtUp(2));
  EXPECT_EQ(facts.Rank(), 5);
}

TEST(AgentFacts, ANewSessionReplacesTheOldAfterATimeout) {
  Facts facts;
  facts.Log(test::LogText("gpu-7").Begin(3, 8).text(), 1);
  facts.Log(test::LogText("gpu-7").Begin(5, 8).text(), 2);
  facts.now += seconds(61);
  EXPECT_TRUE(facts.Log(test::LogText("gpu-7").Complete(5, 8).text(), 2));
  EXPECT_EQ(facts.Rank(), 5);
}

// A process of a job with a queue pair on a device, and its log.
void TellAll(Facts& facts, const std::string& host) {
  v1::AgentBatch batch;
  v1::QueuePairGroup& group = *batch.mutable_queue_pairs()->add_groups();
  group.set_device("mlx5_0");
  group.add_local_qpns(20);
  v1::HostProcess& process = *batch.mutable_processes()->add_processes();
  process.set_scheduler_job_id(77);
  process.set_rank(2);
  batch.mutable_inventory()->add_gpus()->set_pci_address("0000:1b:00.0");
  facts.Add(batch, 1, host);
  facts.Log(test::LogText(host).Begin(3, 8).text(), 1, 1, host);
}

TEST(AgentFacts, IgnoresProcessesOfASilentHost) {
  Facts facts;
  TellAll(facts, "gpu-7");
  EXPECT_TRUE(facts.News(AgentNews::kSilent));
  const AgentFacts all = facts.builder.Facts();
  EXPECT_THAT(all.processes, IsEmpty());
  EXPECT_THAT(all.allocations, IsEmpty()) << "its GPUs are not allocated";
  EXPECT_EQ(all.rdma.size(), 1u);
  EXPECT_EQ(all.gpus.size(), 1u);
  EXPECT_TRUE(facts.News(AgentNews::kHeard));
  EXPECT_EQ(facts.builder.Facts().processes.size(), 1u) << "it is not sent again";
  EXPECT_EQ(facts.builder.Facts().allocations.size(), 1u);
}

TEST(AgentFacts, ANewSessionAfterSilenceReplacesTheOldAtOnce) {
  Facts facts;
  TellAll(facts, "gpu-7");
  facts.News(AgentNews::kSilent);
  v1::AgentBatch batch;
  batch.mutable_processes()->add_processes()->set_scheduler_job_id(78);
  batch.set_caught_up(true);
  facts.Add(batch, 2);
  ASSERT_EQ(facts.builder.Facts().allocations.size(), 1u);
  EXPECT_EQ(facts.builder.Facts().allocations[0].id, 78u);
}

TEST(AgentFacts, DiscardsAllDataOfAGoneHost) {
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

TEST(AgentFacts, EvictsTheLogWithTheOldestWrite) {
  Facts facts({.logs = 2});
  facts.Log(LogLinesOf(1, 1), 1, 1);
  facts.Log(LogLinesOf(2, 2), 1, 2);
  facts.Log(LogLinesOf(1, 2), 1, 1);
  EXPECT_TRUE(facts.Log(LogLinesOf(3, 4), 1, 3));
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(3, 4)) << "2 was written before 1";
  EXPECT_EQ(facts.builder.counts().forgotten, 1u);
}

TEST(AgentFacts, LimitsTheLogsOfAHost) {
  const size_t line = LogLinesOf(1, 1).size();
  Facts facts({.log_bytes = 2 * 1024 + 40 * line,
               .process_bytes = 0});  // 1 KiB for each log in addition to its text
  facts.Log(LogLinesOf(1, 20), 1, 1);
  facts.Log(LogLinesOf(2, 19), 1, 2);
  facts.Log(LogLinesOf(3, 10), 1, 3);
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(19, 10));
  facts.Log(LogLinesOf(3, 29), 1, 3);
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(39));
  facts.Log(LogLinesOf(3, 7), 1, 3);
  EXPECT_THAT(facts.LinesOfLogs(), ElementsAre(7)) << "a log above the limit restarts";
  EXPECT_EQ(facts.builder.counts().forgotten, 3u);
}

TEST(AgentFacts, LimitsAreLowerIfThereIsLittleMemory) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  const auto large = AgentFactsBuilder::LimitsFor(64 * kGiB);
  EXPECT_EQ(large.all_log_bytes, 2 * kGiB);
  EXPECT_EQ(large.log_bytes, kGiB / 4);
  EXPECT_EQ(large.queue_pairs, 262'144u);
  const auto small = AgentFactsBuilder::LimitsFor(kGiB / 2);
  EXPECT_EQ(small.all_log_bytes, kGiB / 16);
  EXPECT_EQ(small.log_bytes, kGiB / 64);
  EXPECT_EQ(small.queue_pairs, 32'768u);
}

// A short line can name a process, which takes far more memory.
TEST(AgentFacts, CountsTheProcessesInLogs) {
  Facts facts({.log_bytes = 64 << 10, .process_bytes = 8 << 10});
  for (uint64_t process = 1; process <= 10; ++process) {
    facts.Log(LogLinesOf(static_cast<int>(process), 1), 1, process);
  }
  EXPECT_GT(facts.builder.counts().forgotten, 0u);
  EXPECT_LE(facts.builder.Facts().logs.size(), 8u);
}

TEST(AgentFacts, LimitsTheLogsOfAllHosts) {
  const size_t line = LogLinesOf(1, 1).size();
  Facts facts({.process_bytes = 0, .all_log_bytes = 4 * (1024 + 10 * line)});
  for (const int host : {1, 2, 3, 4}) {
    facts.Log(LogLinesOf(host, 10), 1, 1, "gpu-" + std::to_string(host));
  }
  EXPECT_EQ(facts.builder.Facts().logs.size(), 4u);
  facts.News(AgentNews::kGone, "gpu-4");
  facts.Log(LogLinesOf(1, 10), 1, 1, "gpu-5");
  EXPECT_EQ(facts.builder.counts().forgotten, 0u) << "the host that is gone freed its space";
  facts.Log(LogLinesOf(1, 1), 1, 1, "gpu-1");
  EXPECT_EQ(facts.builder.counts().forgotten, 1u);
  const AgentFacts all = facts.builder.Facts();
  ASSERT_EQ(all.logs.size(), 3u);
  EXPECT_EQ(all.logs[0]->source_name, "gpu-1:/var/log/nccl.log");
  EXPECT_EQ(all.logs[1]->source_name, "gpu-3:/var/log/nccl.log") << "2's was the oldest";
}

// An agent that is killed repeatedly before it has caught up.
TEST(AgentFacts, FreesTheSpaceOfUnfinishedSessionsOnce) {
  const size_t line = LogLinesOf(1, 1).size();
  Facts facts({.process_bytes = 0, .all_log_bytes = 3 * (1024 + 10 * line)});
  facts.Log(LogLinesOf(1, 10), 1, 1, "gpu-1");
  for (uint64_t session = 1; session <= 5; ++session) facts.Log(LogLinesOf(2, 10), session);
  EXPECT_EQ(facts.builder.counts().forgotten, 0u);
  EXPECT_EQ(facts.builder.Facts().logs.size(), 2u);
  facts.Log(LogLinesOf(3, 1), 1, 1, "gpu-3");
  EXPECT_EQ(facts.builder.counts().forgotten, 1u) << "there is space for three";
}

TEST(AgentFacts, NewQueuePairsAndAddressesReplaceOldOnes) {
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
  devices.mutable_inventory()->add_gpus()->set_pci_address("0000:2c:00.0");
  devices.mutable_inventory()->add_gpus()->set_pci_address("0000:1b:00.0");
  EXPECT_TRUE(facts.Add(devices));
  const AgentFacts all = facts.builder.Facts();
  ASSERT_EQ(all.rdma.size(), 1u);
  EXPECT_EQ(all.rdma[0].host, "gpu-7");
  ASSERT_EQ(all.rdma[0].queue_pairs.size(), 2u) << "QPNs have 24 bits";
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

TEST(AgentFacts, ProcessesDefineTheNodesOfAJob) {
  Facts facts;
  v1::AgentBatch batch;
  for (const uint64_t job : {77u, 77u, 0u}) {
    batch.mutable_processes()->add_processes()->set_scheduler_job_id(job);
  }
  facts.Add(batch, 1, "gpu-7");
  facts.Add(batch, 1, "gpu-8");
  const auto allocations = facts.builder.Facts().allocations;
  ASSERT_EQ(allocations.size(), 1u);
  EXPECT_EQ(allocations[0].id, 77u);
  ASSERT_EQ(allocations[0].nodes.size(), 2u);
  EXPECT_EQ(allocations[0].nodes[1].name, "gpu-8");
}

// A small message can name many devices and jobs, which take far more memory.
TEST(AgentFacts, LimitsTheNicsAddressesAndJobsOfAHost) {
  constexpr int kMany = 600;
  Facts facts;
  v1::AgentBatch batch;
  for (int i = 0; i < kMany; ++i) {
    v1::RdmaDevice& device = *batch.mutable_inventory()->add_devices();
    device.set_name("mlx5_" + std::to_string(i));
    v1::RdmaPort& port = *device.add_ports();
    for (int address = 0; address < (i == 0 ? kMany : 1); ++address) {
      port.add_addresses("10.1." + std::to_string(address / 200) + "." +
                         std::to_string(address % 200));
    }
    batch.mutable_processes()->add_processes()->set_scheduler_job_id(static_cast<uint64_t>(i) + 1);
  }
  facts.Add(batch);
  const AgentFacts all = facts.builder.Facts();
  EXPECT_EQ(all.nics.size(), 128u);
  EXPECT_EQ(all.nics.at(0).addresses.size(), 32u);
  EXPECT_EQ(all.allocations.size(), 256u);
}

TEST(AgentFacts, EnvironmentsDefineRanksAndGpus) {
  Facts facts;
  v1::AgentBatch batch;
  uint64_t id = 100;
  const auto add = [&](int64_t rank, int64_t local_rank, int64_t world_size, const char* gpus) {
    v1::HostProcess& process = *batch.mutable_processes()->add_processes();
    process.set_process_id(++id);
    if (rank >= 0) process.set_rank(rank);
    if (local_rank >= 0) process.set_local_rank(local_rank);
    if (world_size >= 0) process.set_world_size(world_size);
    process.set_visible_gpus(gpus);
  };
  add(9, 1, 16, "");           // 101: all GPUs visible, selected by local rank
  add(10, 2, 16, "4,5,6,7");   // 102
  add(11, 3, 16, "7");         // 103: one GPU selected by the launcher
  add(12, 4, 16, "4,5,6,7");   // 104: local rank is out of range
  add(13, 0, 16, "GPU-8a,1");  // 105: by UUID prefix, the third GPU by PCI address
  add(16, 0, 16, "");          // 106: more local ranks than GPUs
  add(-1, 0, 16, "");          // no information
  add(int64_t{1} << 40, 0, 16, "");
  add(14, 1, 16, "GPU-8a41c2f7,GPU-5bf7a990-1c2d-4e8b-b0a1-6d7c8e9f0a1b");
  add(15, 0, 16, "GPU-5b");  // ambiguous prefix
  add(15, 0, 16, "GPU-77");  // unknown prefix
  add(15, 0, 16, "GPU-");
  add(15, 0, 16, "MIG-8a41c2f7");
  add(15, 0, 16, "none");  // GPUs hidden or unreadable: its first GPU is not the host's first
  add(15, 0, 16, "-5");
  facts.Add(batch, 1, "gpu-7");
  v1::AgentBatch inventory;
  for (const auto& [pci, uuid] :
       {std::pair("0000:9a:00.0", "GPU-8a41c2f7-0d5e-4b1f-9a63-5f2d1e0c7b98"),
        std::pair("0000:1b:00.0", "GPU-5bd0e8c1-77aa-4f36-8c1d-0e9f3a2b4c5d"),
        std::pair("0000:43:00.0", "GPU-5bf7a990-1c2d-4e8b-b0a1-6d7c8e9f0a1b")}) {
    v1::GpuDevice& gpu = *inventory.mutable_inventory()->add_gpus();
    gpu.set_pci_address(pci);
    gpu.set_uuid(uuid);
  }
  EXPECT_EQ(facts.builder.Facts().processes.at(4).gpu, -1) << "no GPU UUID is known yet";
  facts.Add(inventory, 1, "gpu-7");
  const auto processes = facts.builder.Facts().processes;
  std::vector<int> gpus;
  for (const HostProcess& process : processes) gpus.push_back(process.gpu);
  EXPECT_THAT(gpus, ElementsAre(1, 6, 7, -1, 2, 0, 1, -1, -1, -1, -1, -1, -1));
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
  Nic(batch).set_priority(3);
  EXPECT_FALSE(facts.Add(batch, 1, "gpu-7.rack2.example", Duration(1'000'000'000)))
      << "counters are not facts";
  ASSERT_EQ(facts.counters.size(), 1u);
  const CounterRecord& record = facts.counters[0];
  EXPECT_EQ(record.entity, (CounterEntity{.kind = EntityKind::kNic,
                                          .priority = 3,
                                          .agent = {},
                                          .node = "gpu-7",
                                          .port = "mlx5_0"}));
  EXPECT_EQ(record.metric, Metric::kRxBytes);
  EXPECT_EQ(record.value, 1000u);
  EXPECT_EQ(record.event_time, kNow - seconds(4)) << "by the appliance's clock";
  EXPECT_EQ(record.arrival_time, kNow);
}

TEST(AgentFacts, CountsInvalidCounters) {
  Facts facts;
  v1::AgentBatch batch;
  batch.set_read_ns(ToNanoseconds(kNow) + 9'000'000'000);
  Nic(batch).set_kind("port");  // a switch's
  Nic(batch).set_kind("moon");
  Nic(batch).set_priority(8);
  Nic(batch).clear_port();
  Nic(batch).add_metrics("more names than values");
  Nic(batch).set_metrics(0, "no_such_metric");
  Nic(batch).set_event_ns(-1);
  Nic(batch);
  facts.Add(batch);
  ASSERT_EQ(facts.counters.size(), 1u);
  EXPECT_EQ(facts.counters[0].event_time, kNow) << "no reading is from the future";
  EXPECT_EQ(facts.builder.counts().readings, 9u);
  EXPECT_EQ(facts.builder.counts().malformed, 8u);
}

}  // namespace
}  // namespace rocescope
