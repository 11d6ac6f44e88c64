// SPDX-License-Identifier: BSD-3-Clause
// Jobs that start, stop and crash, checkpoints, interludes, maintenance and rare errors in the flow
// model.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "sim/flow/flow_counters.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {
namespace {

constexpr const char* kFabric = R"(
name: test
duration: 600s
time_scale: 1
record_interval: 1s
analysis_window: 1s
fabric:
  generate: {shape: leaf-spine, hosts: 6, nics: 2, gpus: 2, leaves: 3, spines: 2,
             host_speed: 100G, fabric_speed: 400G, host_delay: 500ns, fabric_delay: 500ns}
)";

// A ring of four hosts on two rails, whose iterations take at least 2 s.
constexpr const char* kJob = R"(
jobs:
  - name: train
    hosts: host[0-3]
    jitter: 0
    phases: [{name: dp, collective: ring, size: 1G, compute: 2s, groups: rails}]
)";

class FlowLife : public testing::Test {
 protected:
  void Run(const std::string& text) {
    auto scenario =
        LoadScenario(kFabric + text + "telemetry: {mirror: none, nccl: none}\n", "test");
    ASSERT_TRUE(scenario) << scenario.error().message;
    scenario_ = *std::move(scenario);
    auto model = FlowModel::Make(scenario_);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
    model_->Run(nullptr);
    counters_ = std::make_unique<FlowCounters>(model_->history(), scenario_.epoch);
  }

  // The counters of a port, by metric. Times must not decrease.
  std::map<Metric, uint64_t> Read(const std::string& port, double seconds) {
    const auto time = counters_->begin() + Duration(static_cast<int64_t>(seconds * 1e9));
    std::map<Metric, uint64_t> result;
    for (uint32_t i = 0; i < counters_->entities().size(); ++i) {
      const ExactCounters::Entity& entity = counters_->entities()[i];
      if (entity.entity.node + ":" + entity.entity.port != port) continue;
      std::vector<uint64_t> values(entity.metrics.size());
      if (!counters_->Read(i, counters_->begin(), time, values)) continue;
      for (size_t k = 0; k < values.size(); ++k) result[entity.metrics[k]] = values[k];
    }
    return result;
  }
  static double Seconds(SimTime time) { return static_cast<double>(time) / kSecond; }

  Scenario scenario_;
  std::unique_ptr<FlowModel> model_;
  std::unique_ptr<FlowCounters> counters_;
};

TEST_F(FlowLife, JobsSendOnlyWhileTheyRun) {
  std::string job = kJob;
  job += "    start: 100s\n    end: 400s\n    restarts: [{at: 200s, downtime: 50s}]\n";
  Run(job);
  const auto sent = [&](double seconds) {
    return Read("host0:mlx5_0", seconds)[Metric::kTxPackets];
  };
  EXPECT_EQ(sent(99), 0u);
  const uint64_t at_crash = sent(200);
  EXPECT_GT(at_crash, 0u);
  EXPECT_EQ(sent(249), at_crash);
  const uint64_t at_end = sent(400);
  EXPECT_GT(at_end, at_crash);
  EXPECT_EQ(sent(600), at_end);
  ASSERT_EQ(model_->jobs().size(), 2u);  // two starts
  for (const FlowModel::JobRecord& job_start : model_->jobs()) {
    EXPECT_TRUE(job_start.stopped);
    ASSERT_GT(job_start.iterations.size(), 10u);
    EXPECT_EQ(job_start.iterations.back().end, kNever);  // interrupted
  }
  EXPECT_NEAR(Seconds(model_->jobs()[1].iterations[0].begin), 250, 1e-6);
}

// A ring of four sends 2 * 3/4 of 1 GiB over each link in each iteration, whatever happens.
TEST_F(FlowLife, IterationsSendWhatTheCollectiveNeeds) {
  Run(kJob);
  const auto& iterations = model_->jobs()[0].iterations;
  const auto done = static_cast<double>(
      std::ranges::count_if(iterations, [](const auto& one) { return one.end != kNever; }));
  const auto bytes = static_cast<double>(Read("host0:mlx5_0", 600)[Metric::kTxBytes]);
  const double payload = 1.5 * (1u << 30);
  EXPECT_GE(bytes, done * payload);
  EXPECT_LE(bytes, (done + 1) * payload * 1.03);  // headers, ACKs and clear-to-sends
  // 1.6 GB at 12.5 GB/s, and 2 s of computation.
  EXPECT_NEAR(Seconds(iterations[20].end - iterations[10].end) / 10, 2 + 1.61 / 12.5, 0.02);
}

TEST_F(FlowLife, InterludesAndCheckpointsComeBetweenIterations) {
  std::string job = kJob;
  job +=
      R"(    interludes: [{name: evaluation, every: 20, phases: [{name: e, collective: none, compute: 30s}]}]
    checkpoint: {every: 50, size: 2G, to: "host5:mlx5_0"}
)";
  Run(job);
  const auto& breaks = model_->jobs()[0].breaks;
  size_t interludes = 0;
  size_t checkpoints = 0;
  for (const Job::Break& each : breaks) {
    if (each.end == kNever) continue;
    (each.checkpoint ? checkpoints : interludes) += 1;
    if (each.checkpoint) {
      // Eight ranks write 2 GiB each over one link of 100 Gb/s.
      EXPECT_NEAR(Seconds(each.end - each.begin), 16 * 1.0737 / 12.5, 0.1);
    } else {
      EXPECT_NEAR(Seconds(each.end - each.begin), 30, 0.2);
    }
  }
  const auto done = static_cast<size_t>(std::ranges::count_if(
      model_->jobs()[0].iterations, [](const auto& one) { return one.end != kNever; }));
  EXPECT_EQ(interludes, done / 20);
  EXPECT_EQ(checkpoints, done / 50);
  const auto stored = static_cast<double>(Read("host5:mlx5_0", 600)[Metric::kRxBytes]);
  EXPECT_NEAR(stored / (16.0 * (1u << 30)), static_cast<double>(checkpoints),
              0.05 * static_cast<double>(checkpoints));
}

TEST_F(FlowLife, MaintenanceMovesTrafficWithoutLoss) {
  Run(std::string(kJob) +
      "maintenance: [{switch: spine0, start: 100s, drain: 20s, duration: 100s}]\n");
  const topology::Fabric& fabric = *scenario_.fabric;
  uint64_t before = 0;
  uint64_t during = 0;
  for (const bool later : {false, true}) {
    for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
      if (fabric.port(port).link == topology::kNone) continue;
      if (fabric.NameOf(fabric.Peer(port)).starts_with("spine0")) {
        (later ? during : before) +=
            Read(fabric.NameOf(port), later ? 221 : 100.5)[Metric::kTxPackets];
      }
    }
  }
  EXPECT_GT(before, 0u);
  EXPECT_EQ(during, before);  // from the start of the drain until the switch is back
  EXPECT_TRUE(Read("spine0:Ethernet1", 230).size() > 0);
  EXPECT_TRUE(model_->lost().empty());
  EXPECT_EQ(model_->jobs()[0].failed, kNever);
}

TEST_F(FlowLife, ADeviceInMaintenanceDoesNotAnswer) {
  Run(std::string(kJob) +
      "maintenance: [{switch: spine0, start: 100s, drain: 20s, duration: 100s},"
      " {host: host5, start: 300s, duration: 50s}]\n");
  EXPECT_FALSE(Read("spine0:Ethernet1", 119).empty());
  EXPECT_TRUE(Read("spine0:Ethernet1", 121).empty());
  EXPECT_FALSE(Read("spine0:Ethernet1", 221).empty());
  EXPECT_TRUE(Read("host5:mlx5_1", 320).empty());
  EXPECT_EQ(Read("leaf2:Ethernet3", 320)[Metric::kLinkUp], 0u);
}

TEST_F(FlowLife, OutagesAreThoseOfNodesAndNics) {
  Run(std::string(kJob) +
      "maintenance: [{switch: spine0, start: 100s, drain: 20s, duration: 100s},"
      " {host: host5, start: 300s, duration: 50s}]\n"
      "faults: [{kind: nic_crash, nic: \"host5:mlx5_1\", onset: 340s, duration: 20s},"
      " {kind: switch_crash, switch: spine1, onset: 590s}]\n");
  std::map<std::string, std::vector<ExactCounters::Outage>> outages;
  for (uint32_t i = 0; i < counters_->entities().size(); ++i) {
    const CounterEntity& entity = counters_->entities()[i].entity;
    const auto of = counters_->OutagesOf(i);
    if (!of.empty()) outages[entity.node + ":" + entity.port] = of;
    // Read agrees. Times must not decrease.
    for (const auto& [begin, end] : of) {
      std::vector<uint64_t> values(counters_->entities()[i].metrics.size());
      const auto read = [&](Timestamp time) { return counters_->Read(i, time, time, values); };
      EXPECT_TRUE(read(begin - Duration(1)));
      EXPECT_FALSE(read(begin));
      if (end == Timestamp::max()) continue;
      EXPECT_FALSE(read(end - Duration(1)));
      EXPECT_TRUE(read(end));
    }
  }
  const auto from = [&](int begin, int end) {
    const Timestamp epoch = counters_->begin();
    return std::vector<ExactCounters::Outage>{
        {epoch + std::chrono::seconds(begin),
         end == 0 ? Timestamp::max() : epoch + std::chrono::seconds(end)}};
  };
  EXPECT_EQ(outages["spine0:Ethernet2"], from(120, 220));
  EXPECT_EQ(outages["spine1:Ethernet1"], from(590, 0));
  EXPECT_EQ(outages["host5:mlx5_0"], from(300, 350));
  EXPECT_EQ(outages["host5:mlx5_1"], from(300, 360)) << "its own outage follows that of the host";
  EXPECT_EQ(outages["host5:"], from(300, 350)) << "GPUs";
  EXPECT_FALSE(outages.contains("leaf2:Ethernet3"));
}

TEST_F(FlowLife, HarmlessDiscardsAndCodewordsGrowWithTime) {
  Run(std::string(kJob) +
      "benign: {harmless_discards: {ports: 1, period: 10s}, pre_fec_bit_error_ratio: [1e-8, "
      "1e-8],\n"
      "         bit_error_ratio: [1e-12, 1e-12]}\n");
  auto at = Read("leaf0:Ethernet1", 600);
  EXPECT_GE(at[Metric::kRxDiscards], 60u);
  EXPECT_LE(at[Metric::kRxDiscards], 61u);
  // Codewords of 5,440 bits with at least one wrong bit, at 100 Gb/s.
  const double corrected = 100e9 / 5440 * (1 - std::pow(1 - 1e-8, 5440)) * 600;
  EXPECT_NEAR(static_cast<double>(at[Metric::kFecCorrected]), corrected, 0.01 * corrected);
  double uncorrected = 0;
  double bits = 0;
  const topology::Fabric& fabric = *scenario_.fabric;
  for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
    if (fabric.port(port).link == topology::kNone) continue;
    uncorrected += static_cast<double>(Read(fabric.NameOf(port), 600)[Metric::kFecUncorrected]);
    bits += 600 * static_cast<double>(fabric.link(fabric.port(port).link).bits_per_second);
  }
  // 16 wrong bits in each uncorrected codeword.
  const double expected = bits * 1e-12 / 16;
  EXPECT_NEAR(uncorrected, expected, 4 * std::sqrt(expected));
}

TEST_F(FlowLife, FrameErrorsBreakTheirNumberOfFrames) {
  Run(std::string(kJob) + "benign: {frame_errors: {ports: 1, frames: 2}}\n");
  EXPECT_EQ(Read("host1:mlx5_0", 600)[Metric::kFcsErrors], 2u);
  uint64_t listed = 0;
  for (const BenignEvent& event : model_->benign()) {
    if (event.kind == BenignKind::kFrameError) listed += event.count;
  }
  EXPECT_EQ(listed, model_->lost().at("bit_error"));
}

TEST_F(FlowLife, StrongLossNeverExceedsTheSpeedOfALink) {
  for (const char* const probability : {"0.1", "0.5", "1"}) {
    Run(std::string(kJob) + "faults: [{kind: gray_loss, sender: \"host0:mlx5_0\", onset: 1min, " +
        "probability: " + probability + "}]\n");
    uint64_t before = 0;
    for (double seconds = 5; seconds <= 600; seconds += 5) {
      const uint64_t sent = Read("host0:mlx5_0", seconds)[Metric::kTxBytes];
      EXPECT_LE(sent - before, 5 * 12'500'000'000u) << probability << " at " << seconds << " s";
      before = sent;
    }
  }
}

TEST_F(FlowLife, LossesInBurstsCauseFewerNaks) {
  const auto naks_per_loss = [&](const std::string& more) {
    Run(std::string(kJob) +
        "faults: [{kind: gray_loss, sender: \"host0:mlx5_0\", probability: 1e-3" + more + "}]\n");
    const uint64_t naks = Read("host0:mlx5_0", 600)[Metric::kPacketSequenceError];
    return static_cast<double>(naks) / static_cast<double>(model_->lost().at("wire"));
  };
  const double single = naks_per_loss("");
  const double in_bursts = naks_per_loss(", burst: 4");
  EXPECT_NEAR(single, 0.92, 0.05);  // the others are lost acknowledgements
  EXPECT_NEAR(in_bursts, single / 4, 0.06);
  // Short frames pass.
  EXPECT_NEAR(naks_per_loss(", least_length: 1024"), 0.98, 0.02);
}

TEST_F(FlowLife, AFaultGrowsToItsFullSeverity) {
  Run(std::string(kJob) +
      "faults: [{kind: gray_loss, sender: \"host0:mlx5_0\", probability: 1e-3, growth: 0.001}]\n");
  const auto lost_until = [&](double seconds) {
    const uint64_t sent = Read("host0:mlx5_0", seconds)[Metric::kTxPackets];
    return sent - Read("leaf0:Ethernet1", seconds)[Metric::kRxPackets];
  };
  const auto half = static_cast<double>(lost_until(300));
  const auto all = static_cast<double>(lost_until(600));
  // Severity rises exponentially from 0.001 to 1: the second half has 1 - 0.001^0.5 of the sum.
  EXPECT_NEAR(half / all, 0.031, 0.01);
  const double frames = static_cast<double>(Read("host0:mlx5_0", 600)[Metric::kTxPackets]);
  const double mean = (1 - 0.001) / std::log(1000);  // mean severity
  EXPECT_NEAR(all / (frames * 1e-3 * mean), 1, 0.1);
}

TEST_F(FlowLife, LinkThatFlapsForHoursCostsLittle) {
  std::string text = std::string(kJob) +
                     "faults: [{kind: flap, link: \"leaf0:Ethernet5\", onset: 5s, period: 1s}]\n";
  Run(text);
  EXPECT_EQ(Read("leaf0:Ethernet5", 600)[Metric::kLinkFlaps], 595u);
  // Paths alternate between two states of the routes: no new series after the first flaps.
  EXPECT_LT(model_->history().series.size(), 400u);
}

TEST_F(FlowLife, ARunWithoutAFaultIsTheSameUntilItsOnset) {
  const std::string fault =
      "faults: [{kind: degraded_rate, link: \"leaf0:Ethernet1\", onset: 300s, factor: 0.1}]\n";
  Run(kJob + fault);
  const auto with_fault = model_->jobs()[0].iterations;
  model_.reset();
  auto without = FlowModel::Make(scenario_, 0);
  ASSERT_TRUE(without);
  (*without)->Run(nullptr);
  const auto& iterations = (*without)->jobs()[0].iterations;
  const auto complete = [](const std::vector<Job::Iteration>& all) {
    return std::ranges::count_if(all, [](const auto& one) { return one.end != kNever; });
  };
  // The other rail goes on, but the ranks of this one need ten times as long to communicate.
  EXPECT_GT(complete(iterations), complete(with_fault) + 40);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(iterations[i].end, with_fault[i].end) << i;
}

TEST_F(FlowLife, FrameErrorsOfIdleLinksCostLittle) {
  Run(std::string(kJob) + "benign: {frame_errors: {ports: 1, frames: 1000}}\n");
  EXPECT_LT(model_->events(), 1'000'000u);
}

// Makes the model of a scenario that it refuses. Returns the message.
std::string Refusal(const std::string& text) {
  auto scenario = LoadScenario(kFabric + text + "telemetry: {mirror: none, nccl: none}\n", "test");
  if (!scenario) return "the scenario: " + scenario.error().message;
  const auto model = FlowModel::Make(*scenario);
  return model ? std::string() : model.error().message;
}

std::string JobWith(std::string_view phase) {
  constexpr std::string_view kPhase = "size: 1G, compute: 2s";
  std::string job = kJob;
  return job.replace(job.find(kPhase), kPhase.size(), phase);
}

TEST(FlowLimits, TooManyIterationsAreAnError) {
  // 1 ms of computing, and 1 us of data at 100 Gb/s with the latencies of its steps.
  const std::string refusal = Refusal(JobWith("size: 1K, compute: 1ms"));
  EXPECT_THAT(refusal, testing::HasSubstr("the job train would run about 5"));
  EXPECT_THAT(refusal, testing::HasSubstr("at most 500000 iterations"));
  EXPECT_THAT(refusal, testing::HasSubstr("shorten `duration`"));
  EXPECT_EQ(Refusal(JobWith("size: 1K, compute: 10ms")), "");
}

TEST(FlowLimits, ALimitedNumberOfIterationsIsNotAnError) {
  EXPECT_EQ(Refusal(JobWith("size: 1K, compute: 1ms") + "    iterations: 1000\n"), "");
}

TEST(FlowLimits, EventsWithoutEndAreAnError) {
  for (const char* const more :
       {"benign: {microbursts: {period: 100us, senders: 2, frames: 1}}\n",
        "faults: [{kind: flap, link: 'leaf0:Ethernet1', period: 10us}]\n"}) {
    EXPECT_THAT(Refusal(std::string(kJob) + more), testing::HasSubstr("use a longer period"));
  }
}

}  // namespace
}  // namespace rocescope::sim
