// SPDX-License-Identifier: BSD-3-Clause
// Complete runs with benign events: what the telemetry and the truth contain.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "dataplane/run/counter_line.h"
#include "sim/run/simulation.h"
#include "sim/run/write_truth.h"

namespace rocescope::sim {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class BenignRunTest : public ::testing::Test {
 protected:
  BenignRunTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("rocescope-benign-" + std::to_string(getpid()))) {}
  ~BenignRunTest() override { std::filesystem::remove_all(directory_); }

  void Run(const std::string& job_keys, const std::string& rest) {
    const std::string text =
        "name: test\n"
        "duration: 6ms\n"
        "fabric: {generate: {shape: leaf-spine, hosts: 8, leaves: 4, spines: 2, host_speed: 100G, "
        "fabric_speed: 100G}}\n"
        "jobs: [{name: train, hosts: 'host[0-3]', phases: [{collective: ring, size: 1M, compute: "
        "50us}]" +
        job_keys + "}]\n" + rest;
    auto scenario = LoadScenario(text, "test.yaml");
    ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
    scenario_ = *std::move(scenario);
    simulation_ = Simulation::Make(scenario_, {.directory = directory_.string()}).value();
    ASSERT_TRUE(simulation_->Run({}).has_value());
    truth_ = TruthOf(*simulation_);
  }
  // The last reading of each entity without a priority, by "node:port".
  std::map<std::string, std::map<Metric, uint64_t>> LastReadings() const {
    std::map<std::string, std::map<Metric, uint64_t>> last;
    std::ifstream file(directory_ / "counters.jsonl");
    for (std::string text; std::getline(file, text);) {
      const CounterLine line = ParseCounterLine(text).value();
      const std::string name = line.entity.kind == EntityKind::kGpu
                                   ? line.entity.node + ":gpu"
                                   : line.entity.node + ":" + line.entity.port;
      for (const auto& [metric, value] : line.metrics) last[name][metric] = value;
    }
    return last;
  }
  int BenignOf(std::string_view kind) const {
    return static_cast<int>(
        std::count_if(truth_.benign().begin(), truth_.benign().end(),
                      [&](const v1::TruthBenign& event) { return event.kind() == kind; }));
  }

  std::filesystem::path directory_;
  Scenario scenario_;
  std::unique_ptr<Simulation> simulation_;
  v1::Truth truth_;
};

TEST_F(BenignRunTest, FecCountersAreReportedOnlyIfConfigured) {
  Run("", "telemetry: {mirror: none}\n");
  EXPECT_FALSE(LastReadings().at("leaf0:Ethernet1").contains(Metric::kFecCorrected));
  EXPECT_THAT(truth_.benign(), IsEmpty());
  Run("", "benign: {pre_fec_bit_error_ratio: [1e-7, 1e-6]}\ntelemetry: {mirror: none}\n");
  const auto readings = LastReadings();
  for (const char* entity : {"leaf0:Ethernet1", "spine1:Ethernet1", "host0:mlx5_0"}) {
    const auto& metrics = readings.at(entity);
    // 18.4 million codewords per second for 6 ms, of which 0.05 to 0.54 % have an error.
    EXPECT_GT(metrics.at(Metric::kFecCorrected), 30u) << entity;
    EXPECT_LT(metrics.at(Metric::kFecCorrected), 700u) << entity;
    EXPECT_EQ(metrics.at(Metric::kFecUncorrected), 0u) << entity;
  }
}

TEST_F(BenignRunTest, BrokenFramesAreInTheCountersAndInTheTruth) {
  Run("",
      "benign: {frame_errors: {ports: 0.5, frames: 1}, pre_fec_bit_error_ratio: [1e-9, 1e-8]}\n"
      "telemetry: {mirror: none, counter_period: 1ms}\n");
  uint64_t errors = 0;
  uint64_t uncorrected = 0;
  for (const auto& [entity, metrics] : LastReadings()) {
    if (!metrics.contains(Metric::kFcsErrors)) continue;
    errors += metrics.at(Metric::kFcsErrors);
    uncorrected += metrics.at(Metric::kFecUncorrected);
  }
  EXPECT_GT(errors, 0u);
  EXPECT_EQ(static_cast<uint64_t>(BenignOf("frame_error")), errors);
  EXPECT_EQ(uncorrected, errors);
}

TEST_F(BenignRunTest, HarmlessDiscardsAreInTheCounters) {
  Run("",
      "benign: {harmless_discards: {ports: 1, period: 2ms}}\n"
      "telemetry: {mirror: none, counter_period: 1ms}\n");
  EXPECT_EQ(LastReadings().at("leaf0:Ethernet1").at(Metric::kRxDiscards), 3u);
  for (const uint64_t lost : simulation_->network().shared().lost) EXPECT_EQ(lost, 0u);
}

TEST_F(BenignRunTest, GpuClocksDifferConstantly) {
  Run("", "benign: {gpu_clock_spread: 0.05}\ntelemetry: {mirror: none}\n");
  std::set<uint64_t> clocks;
  const auto readings = LastReadings();
  for (const char* host : {"host0", "host1", "host2", "host3"}) {
    const uint64_t clock = readings.at(std::string(host) + ":gpu").at(Metric::kGpuClock);
    EXPECT_GE(clock, 1980e6 * 0.95);
    EXPECT_LE(clock, 1980e6);
    clocks.insert(clock);
  }
  EXPECT_EQ(clocks.size(), 4u);
  EXPECT_GE(BenignOf("gpu_clock"), 1);
}

TEST_F(BenignRunTest, RestartedJobHasNewQueuePairsAndProcesses) {
  Run(", restarts: [{at: 2ms, downtime: 1ms}]", "telemetry: {mirror: none, rdma: true}\n");
  ASSERT_THAT(simulation_->jobs(), SizeIs(2));
  ASSERT_EQ(truth_.jobs_size(), 1);
  const v1::TruthJob& job = truth_.jobs(0);
  ASSERT_EQ(job.restarts_size(), 1);
  EXPECT_EQ(job.restarts(0).stop_ns() - truth_.start_ns(), 2'000'000);
  EXPECT_EQ(job.restarts(0).start_ns() - truth_.start_ns(), 3'000'000);
  EXPECT_NE(job.restarts(0).process_ids(0), job.ranks(0).process_id());
  std::map<uint32_t, std::set<std::pair<std::string, uint32_t>>> ends;  // by incarnation
  std::map<uint32_t, uint64_t> bytes;
  for (const v1::TruthConnection& connection : truth_.connections()) {
    EXPECT_EQ(connection.job(), "train");
    ends[connection.incarnation()].insert({connection.first().host(), connection.first().qpn()});
    for (const v1::TruthPath& path : connection.forward()) {
      bytes[connection.incarnation()] += path.bytes();
    }
  }
  ASSERT_EQ(ends.size(), 2u);
  for (const auto& end : ends[1]) EXPECT_FALSE(ends[0].contains(end));
  EXPECT_GT(bytes[0], 0u);
  EXPECT_GT(bytes[1], 0u);
  // No iteration overlaps the downtime, and there are some on both sides.
  int before = 0;
  int after = 0;
  for (const v1::TruthIteration& iteration : job.iterations()) {
    const int64_t start = iteration.start_ns() - truth_.start_ns();
    before += start < 2'000'000;
    after += start >= 3'000'000;
  }
  EXPECT_GT(before, 2);
  EXPECT_GT(after, 2);
  EXPECT_EQ(before + after, job.iterations_size());
  EXPECT_EQ(BenignOf("job_restart"), 1);
  int logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "nccl")) {
    logs += entry.path().extension() == ".log";
  }
  EXPECT_EQ(logs, 8);  // four processes before the restart and four after it
  int snapshots = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "rdma")) {
    snapshots += entry.path().extension() == ".json";
  }
  EXPECT_EQ(snapshots, 16);  // eight hosts at the start and after the restart
}

TEST_F(BenignRunTest, ForeignTrafficIsMirroredButIsNoConnection) {
  Run("",
      "foreign: [{from: host6, to: host7, load: 0.05}]\n"
      "telemetry: {mirror: all, int_exponent: 0, sflow_rate: 64}\n");
  EXPECT_GT(simulation_->foreign()[0]->bytes_received(), 1'000'000u);
  EXPECT_EQ(truth_.connections_size(), 4);  // the ring
  EXPECT_EQ(BenignOf("foreign_traffic"), 2);
  const v1::TruthFrames& frames = truth_.frames();
  uint64_t lost = 0;
  for (const v1::TruthLoss& loss : frames.lost()) lost += loss.frames();
  EXPECT_EQ(frames.sent(), frames.delivered() + frames.in_flight() + lost);
}

TEST_F(BenignRunTest, EventsAreListedByTime) {
  Run(", interludes: [{name: evaluation, every: 4, phases: [{collective: none, compute: 100us}]}]"
      ", checkpoint: {every: 5, size: 256K, to: host7}",
      "maintenance: [{switch: spine1, start: 2ms, drain: 200us, duration: 1ms}]\n"
      "telemetry: {mirror: none}\n");
  EXPECT_GE(BenignOf("interlude"), 2);
  EXPECT_GE(BenignOf("checkpoint"), 2);
  EXPECT_EQ(BenignOf("switch_upgrade"), 1);
  for (int i = 1; i < truth_.benign_size(); ++i) {
    EXPECT_LE(truth_.benign(i - 1).start_ns(), truth_.benign(i).start_ns());
  }
  EXPECT_THAT(truth_.faults(), IsEmpty());
  ASSERT_EQ(truth_.jobs(0).phases_size(), 2);
  EXPECT_EQ(truth_.jobs(0).phases(1).collective(), "");
}

TEST_F(BenignRunTest, SameSeedGivesTheSameRun) {
  const auto run = [&] {
    Run(", restarts: [{at: 2ms, downtime: 1ms}], checkpoint: {every: 5, size: 256K, to: host7}",
        "benign: {bit_error_ratio: [1e-9, 1e-8], pre_fec_bit_error_ratio: [1e-7, 1e-6], "
        "frame_errors: {ports: 0.3}, microbursts: {period: 1ms, senders: 7, frames: 8}, "
        "harmless_discards: {ports: 0.5, period: 1ms}, gpu_clock_spread: 0.05}\n"
        "maintenance: [{link: 'leaf0:Ethernet3', start: 1ms, drain: 100us, duration: 1ms}]\n"
        "foreign: [{from: host6, to: host2, load: 0.05}]\n");
    std::string all;
    for (const char* name : {"mirror.pcap", "counters.jsonl", "truth.json"}) {
      std::ifstream file(directory_ / name, std::ios::binary);
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    simulation_.reset();
    return all;
  };
  const std::string first = run();
  EXPECT_EQ(run(), first);
}

}  // namespace
}  // namespace rocescope::sim
