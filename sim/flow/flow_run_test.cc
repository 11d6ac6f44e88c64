// SPDX-License-Identifier: BSD-3-Clause
// Run directories of the flow model.
#include "sim/flow/flow_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dataplane/run/counter_columns_reader.h"
#include "sim/flow/flow_counters.h"
#include "sim/flow/flow_model.h"
#include "sim/flow/history_file.h"
#include "sim/recording/recording_identity.h"

namespace rocescope::sim {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kScenario = R"(
name: test
model: flow
duration: 20min
time_scale: 1
record_interval: 1s
analysis_window: 10s
fabric:
  generate: {shape: leaf-spine, hosts: 8, nics: 2, gpus: 2, leaves: 4, spines: 2,
             host_speed: 100G, fabric_speed: 100G, host_delay: 500ns, fabric_delay: 500ns}
jobs:
  - name: train
    hosts: host[0-5]
    phases: [{name: dp, collective: ring, size: 1G, compute: 2s, groups: rails}]
    restarts: [{at: 10min, downtime: 20s}]
  - name: tune
    hosts: host[6-7]
    start: 2min
    end: 15min
    phases: [{name: dp, collective: ring, size: 1G, compute: 1s, groups: rails}]
faults:
  - {kind: gray_loss, sender: "host1:mlx5_0", probability: 1e-4, onset: 5min}
  - {kind: bit_errors, sender: "leaf0:Ethernet1", probability: 1e-4, onset: 6min, duration: 5min}
benign:
  bit_error_ratio: [1e-13, 1e-12]
  microbursts: {period: 1min, senders: 8, frames: 900}
telemetry: {mirror: none, counter_period: 10s}
)";

class FlowRunTest : public testing::Test {
 protected:
  FlowRunTest() : root_(fmt::format("{}/rocescope-flow-{}", testing::TempDir(), getpid())) {
    auto loaded = LoadScenario(kScenario, "test.yaml");
    EXPECT_TRUE(loaded) << loaded.error().message;
    scenario_ = *std::move(loaded);
  }
  ~FlowRunTest() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }
  static Profile Plain(Duration period) {
    Profile profile;
    profile.name = "lab";
    profile.switches = profile.nics = profile.gpus = {.period = period};
    return profile;
  }
  static Profile Deployed() {
    Profile profile = Plain(std::chrono::seconds(30));
    profile.name = "deployed";
    profile.switches.random_phase = true;
    profile.switches.cached_share = 1;
    profile.switches.refresh = {std::chrono::seconds(1), std::chrono::seconds(5)};
    profile.lost_readings = 0.01;
    profile.random_start_values = true;
    return profile;
  }
  FlowRunReport Run(const std::string& name, const Profile& profile, bool record) {
    auto report = RunFlowModel(scenario_,
                               {.directory = Path(name), .record = record, .profile = profile}, {});
    EXPECT_TRUE(report) << report.error().message;
    return *std::move(report);
  }
  std::string Text(const std::string& path) const {
    std::ifstream file(root_ / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const fs::path root_;
  Scenario scenario_;
};

TEST_F(FlowRunTest, TheSameRunHasTheSameBytes) {
  Run("a", Deployed(), true);
  Run("b", Deployed(), true);
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Path("a"))) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), Path("a")).string();
    EXPECT_EQ(Text("a/" + name), Text("b/" + name)) << name;
    ++files;
  }
  EXPECT_GE(files, 6u + 16u);  // with the NCCL logs
}

TEST_F(FlowRunTest, TheTruthHasTheSamplingRateOfSflow) {
  scenario_.telemetry.sflow_rate = 1 << 20;
  Run("whole", Plain(std::chrono::seconds(10)), false);
  scenario_.telemetry.sflow_spans = SflowSpans{};
  Run("spans", Plain(std::chrono::seconds(10)), false);
  for (const char* const run : {"whole", "spans"}) {
    const auto truth = nlohmann::json::parse(Text(std::string(run) + "/truth.json"));
    EXPECT_EQ(truth["sflow_rate"], 1 << 20) << run;
    EXPECT_EQ(truth["sflow_in_spans"], std::string(run) == "spans") << run;
  }
}

TEST_F(FlowRunTest, ARecordedRunIsCollectedLikeTheRunItself) {
  Run("run", Deployed(), true);
  const auto report = ApplyProfile(
      {.run = Path("run"), .directory = Path("collected"), .seed = scenario_.seed, .scale = 1},
      Deployed(), HistoryOpener());
  ASSERT_TRUE(report) << report.error().message;
  for (const char* file : {"counters.columns", "truth.json", "run.json", "slurm.json"}) {
    EXPECT_EQ(Text(std::string("run/") + file), Text(std::string("collected/") + file)) << file;
  }
}

// Every link at every reading: sent = received + lost, and all losses are those of the truth.
TEST_F(FlowRunTest, CountersConserveFramesAndAgreeWithTheTruth) {
  Run("run", Plain(std::chrono::seconds(10)), false);
  const topology::Fabric& fabric = *scenario_.fabric;
  std::map<std::string, topology::PortIndex> ports;
  for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
    ports[fabric.NameOf(port)] = port;
  }
  auto reader = CounterColumnsReader::Open(Path("run/counters.columns"));
  ASSERT_TRUE(reader) << reader.error().message;
  std::map<Timestamp, std::map<topology::PortIndex, std::pair<uint64_t, uint64_t>>> times;
  std::map<topology::PortIndex, uint64_t> fcs;
  CounterColumnsReader::Reading reading;
  while ((*reader)->Next(reading).value()) {
    const CounterColumnsReader::Entity& entity = (*reader)->entity(reading.number);
    const auto port = ports.find(entity.entity.node + ":" + entity.entity.port);
    if (port == ports.end() || entity.entity.priority != CounterEntity::kAllPriorities) continue;
    auto& [sent, received] = times[reading.time][port->second];
    for (size_t i = 0; i < reading.values.size(); ++i) {
      if (entity.metrics[i] == Metric::kTxPackets) sent = reading.values[i];
      if (entity.metrics[i] == Metric::kRxPackets) received = reading.values[i];
      if (entity.metrics[i] == Metric::kFcsErrors) fcs[port->second] = reading.values[i];
    }
  }
  EXPECT_EQ(times.size(), 121u);
  uint64_t lost = 0;
  for (const auto& [time, values] : times) {
    lost = 0;
    for (const auto& [port, counts] : values) {
      const uint64_t received = values.at(fabric.Peer(port)).second;
      ASSERT_GE(counts.first, received) << fabric.NameOf(port);
      lost += counts.first - received;
    }
  }
  const auto truth = nlohmann::json::parse(Text("run/truth.json"));
  const auto& frames = truth["frames"];
  uint64_t on_links = 0;
  uint64_t dropped = 0;
  uint64_t broken = 0;
  for (const auto& cause : frames["lost"]) {
    const uint64_t count = std::stoull(cause["frames"].get<std::string>());
    const std::string name = cause["cause"].get<std::string>();
    (name == "buffer_full" ? dropped : on_links) += count;
    if (name == "bit_error") broken = count;
  }
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(lost, on_links);
  uint64_t all_fcs = 0;
  for (const auto& [port, count] : fcs) all_fcs += count;
  EXPECT_EQ(all_fcs, broken);
  uint64_t sent = 0;
  uint64_t received = 0;
  for (const topology::Nic& nic : fabric.nics()) {
    sent += times.rbegin()->second.at(nic.port).first;
    received += times.rbegin()->second.at(nic.port).second;
  }
  EXPECT_EQ(std::to_string(sent), frames["sent"].get<std::string>());
  EXPECT_EQ(std::to_string(received), frames["delivered"].get<std::string>());
}

TEST_F(FlowRunTest, VictimsAreTheJobsThatUseTheLink) {
  Run("run", Plain(std::chrono::seconds(10)), false);
  const auto truth = nlohmann::json::parse(Text("run/truth.json"));
  for (const auto& fault : truth["faults"]) {
    EXPECT_FALSE(fault["affected_jobs_unknown"].get<bool>());
    EXPECT_EQ(fault["affected_jobs"].get<std::vector<std::string>>(),
              std::vector<std::string>{"train"})
        << fault["kind"];
  }
  EXPECT_EQ(truth["jobs"][0]["restarts"].size(), 1u);
}

// A restart within a job keeps its nodes and its start time.
TEST_F(FlowRunTest, TheSchedulerShowsJobsThatEndedRestartedOrDidNotStart) {
  JobOptions later = scenario_.jobs[1];
  later.id = 3;
  later.start = scenario_.duration;
  later.end = kNever;
  JobOptions short_job = scenario_.jobs[1];
  short_job.id = 4;
  short_job.start = 0;
  short_job.end = 100 * kSecond;
  short_job.iterations = 3;
  scenario_.jobs.insert(scenario_.jobs.end(), {later, short_job});
  Run("run", Plain(std::chrono::seconds(10)), false);
  const int64_t begin = ToNanoseconds(scenario_.epoch) / 1'000'000'000;
  const auto jobs = nlohmann::json::parse(Text("run/slurm.json"))["jobs"];
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[0]["job_state"], "RUNNING");
  EXPECT_EQ(jobs[0]["start_time"], begin);
  EXPECT_EQ(jobs[1]["job_state"], "TIMEOUT");
  EXPECT_EQ(jobs[1]["start_time"], begin + 120);
  EXPECT_EQ(jobs[1]["end_time"], begin + 900);
  EXPECT_EQ(jobs[2]["job_state"], "PENDING");
  EXPECT_EQ(jobs[3]["job_state"], "COMPLETED");
  // Three iterations of at least 1 s of computation.
  EXPECT_GE(jobs[3]["end_time"], begin + 3);
  EXPECT_LT(jobs[3]["end_time"], begin + 20);
  // Two starts of the first job on twelve GPUs, and two jobs on four GPUs.
  size_t logs = 0;
  for (const auto& entry : fs::directory_iterator(Path("run/nccl")))
    logs += entry.is_regular_file();
  EXPECT_EQ(logs, 2 * 12 + 2 * 4u);
}

TEST_F(FlowRunTest, ARecordingOfAnotherRunIsAnError) {
  Run("run", Deployed(), true);
  scenario_.seed = 9;
  Run("other", Deployed(), true);
  fs::copy_file(Path("other/") + kHistoryFile, Path("run/") + kHistoryFile,
                fs::copy_options::overwrite_existing);
  const auto report = ApplyProfile({.run = Path("run"), .directory = Path("to"), .scale = 1},
                                   Deployed(), HistoryOpener());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("history.columns: the recording belongs to another "
                                                "run"));
}

TEST_F(FlowRunTest, AProfileThatDoesNotFitLeavesAnEarlierRunInPlace) {
  Run("run", Plain(std::chrono::seconds(10)), false);
  const std::string before = Text("run/counters.columns");
  const auto report = RunFlowModel(
      scenario_, {.directory = Path("run"), .profile = Plain(std::chrono::hours(1))}, {});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("is longer than the run"));
  EXPECT_EQ(Text("run/counters.columns"), before);
}

TEST_F(FlowRunTest, AStoredHistoryHasTheSameCountersAtAllTimes) {
  auto model = FlowModel::Make(scenario_);
  ASSERT_TRUE(model) << model.error().message;
  (*model)->Run(nullptr);
  const FlowHistory history = (*model)->TakeHistory();
  fs::create_directories(root_);
  ASSERT_TRUE(WriteHistory(history, scenario_.epoch, Path("history.columns")));
  const auto stored = ReadHistory(Path("history.columns"), *scenario_.fabric);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ((*stored)->epoch, scenario_.epoch);
  FlowCounters before(history, scenario_.epoch);
  FlowCounters after((*stored)->history, (*stored)->epoch);
  ASSERT_EQ(before.entities().size(), after.entities().size());
  for (uint32_t i = 0; i < before.entities().size(); ++i) {
    ASSERT_EQ(before.entities()[i].entity, after.entities()[i].entity);
    std::vector<uint64_t> a(before.entities()[i].metrics.size());
    std::vector<uint64_t> b(a.size());
    for (int ms = 0; ms <= 1'200'000; ms += 7'919) {
      const Timestamp time = scenario_.epoch + std::chrono::milliseconds(ms);
      ASSERT_EQ(before.Read(i, time, time, a), after.Read(i, time, time, b));
      ASSERT_EQ(a, b);
    }
  }
}

TEST_F(FlowRunTest, DamagedHistoriesAreErrors) {
  auto model = FlowModel::Make(scenario_);
  ASSERT_TRUE(model);
  (*model)->Run(nullptr);
  fs::create_directories(root_);
  ASSERT_TRUE(WriteHistory((*model)->history(), scenario_.epoch, Path("h.columns")));
  const std::string good = Text("h.columns");
  const auto error = [&](std::string_view bytes) {
    const auto read = ParseHistory(bytes, "h.columns", *scenario_.fabric);
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(error(good), "");
  EXPECT_THAT(error(""), HasSubstr("h.columns: not a history of the flow model"));
  EXPECT_THAT(error("{\"metrics\": {}}"), HasSubstr("not a history"));
  for (const size_t length : {size_t{8}, size_t{10}, good.size() / 2, good.size() - 1}) {
    EXPECT_THAT(error(std::string_view(good).substr(0, length)), HasSubstr("truncated")) << length;
  }
  EXPECT_THAT(error(good + "x"), HasSubstr("bytes follow"));
  for (size_t at = 0; at < good.size(); at += good.size() / 500 + 1) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    const auto read = ParseHistory(bad, "h.columns", *scenario_.fabric);
    if (!read) continue;
    // A bit that zstd ignores changes nothing.
    ASSERT_TRUE(WriteHistory((*read)->history, (*read)->epoch, Path("same.columns")));
    EXPECT_EQ(Text("same.columns"), good) << "a flipped bit of byte " << at;
  }
  std::string bad = good;
  bad[100] = static_cast<char>(bad[100] ^ 1);
  EXPECT_THAT(error(bad), HasSubstr("h.columns: block 1 at byte 8 is damaged: "));
  bad = good;
  bad[8 + 4 + 4] = static_cast<char>(bad[8 + 4 + 4] ^ 4);  // the flag in the frame's header
  EXPECT_THAT(error(bad), HasSubstr("block 1 at byte 8 is not a zstd frame with a checksum"));
  bad = good;
  bad[7] = 1;
  EXPECT_THAT(error(bad), HasSubstr("version 1, which has no checksums; simulate the scenario"));
  // A history of another fabric.
  const auto other = LoadScenario(
      "name: other\nfabric: {generate: {shape: star, hosts: 2, host_speed: 100G}}\n", "other");
  ASSERT_TRUE(other) << other.error().message;
  const auto read = ParseHistory(good, "h.columns", *other->fabric);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("that the fabric does not have"));
}

}  // namespace
}  // namespace rocescope::sim
