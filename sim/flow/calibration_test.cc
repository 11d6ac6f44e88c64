// SPDX-License-Identifier: BSD-3-Clause
// Compares both models on scenarios that they have in common, and prints the figures. CI compares
// a few of them; `--gtest_also_run_disabled_tests` compares all (docs/results/flow-calibration.md).
// ROCESCOPE_SEEDS="101 102" replaces the seed of each scenario, and compares means over the seeds.
#include "sim/flow/calibration.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "sim/flow/flow_model.h"

namespace rocescope::sim {
namespace {

// Two counts agree if they differ by at most 10 %, or if chance explains the difference of counts
// below 1,000 (95 %). `events`: independent events behind both counts.
bool Agree(uint64_t packet, uint64_t flow, uint64_t events) {
  const auto a = static_cast<double>(packet);
  const auto b = static_cast<double>(flow);
  if (std::abs(b - a) <= 0.1 * a) return true;
  constexpr double kEnough = 1000;
  constexpr double kDeviations = 1.96;
  if (static_cast<double>(events) >= 2 * kEnough) return false;
  return std::abs(b - a) <= kDeviations * (a + b) / std::sqrt(std::max<uint64_t>(1, events));
}

std::vector<std::optional<uint64_t>> Seeds() {
  std::vector<std::optional<uint64_t>> seeds;
  const char* const wanted = std::getenv("ROCESCOPE_SEEDS");
  std::istringstream words(wanted != nullptr ? wanted : "");
  for (uint64_t seed = 0; words >> seed;) seeds.emplace_back(seed);
  if (seeds.empty()) seeds.emplace_back();
  return seeds;
}

// Means of the times and of each port's utilisation, sums of the counts.
Calibration MeanOf(std::vector<Calibration> runs) {
  const auto count = static_cast<double>(runs.size());
  // Ports are in the order of their differences.
  for (Calibration& run : runs) std::ranges::sort(run.ports, {}, &Calibration::Utilisation::port);
  Calibration mean = runs[0];
  for (const Calibration& run : std::span(runs).subspan(1)) {
    for (size_t i = 0; i < mean.jobs.size(); ++i) {
      mean.jobs[i].packet += run.jobs[i].packet;
      mean.jobs[i].flow += run.jobs[i].flow;
      mean.jobs[i].iterations += run.jobs[i].iterations;
    }
    for (size_t i = 0; i < mean.ports.size(); ++i) {
      mean.ports[i].packet += run.ports[i].packet;
      mean.ports[i].flow += run.ports[i].flow;
    }
    mean.packet_lost += run.packet_lost;
    mean.flow_lost += run.flow_lost;
    mean.packet_retransmitted += run.packet_retransmitted;
    mean.flow_retransmitted += run.flow_retransmitted;
  }
  for (Calibration::JobTimes& job : mean.jobs) {
    job.packet /= count;
    job.flow /= count;
  }
  for (Calibration::Utilisation& port : mean.ports) {
    port.packet /= count;
    port.flow /= count;
  }
  std::ranges::stable_sort(mean.ports, std::greater<>(),
                           [](const auto& port) { return std::abs(port.packet - port.flow); });
  return mean;
}

class CalibrationTest : public testing::TestWithParam<const char*> {
 protected:
  void Compare() const {
    const std::string path = fmt::format("{}/{}.yaml", ROCESCOPE_CALIBRATION, GetParam());
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    std::vector<Calibration> runs;
    for (const std::optional<uint64_t> seed : Seeds()) {
      const auto scenario = LoadScenario(text.str(), path, seed);
      ASSERT_TRUE(scenario) << scenario.error().message;
      auto run = Calibrate(*scenario);
      ASSERT_TRUE(run) << run.error().message;
      runs.push_back(*std::move(run));
    }
    const Calibration result = MeanOf(std::move(runs));
    for (const Calibration::JobTimes& job : result.jobs) {
      fmt::print("| {} {} | {} | {:.3f} | {:.3f} | {:.1f} |", GetParam(), job.name, job.iterations,
                 1e3 * job.packet, 1e3 * job.flow, 100 * (job.flow / job.packet - 1));
      if (&job != result.jobs.data()) {
        fmt::print("\n");
        continue;
      }
      fmt::print(" {:.1f} | {} / {} | {} / {} |\n", 100 * result.WorstUtilisation(),
                 result.packet_lost, result.flow_lost, result.packet_retransmitted,
                 result.flow_retransmitted);
    }
    EXPECT_GE(result.jobs[0].iterations, 10u);
    EXPECT_LE(result.WorstIteration(), 0.05);
    EXPECT_LE(result.WorstUtilisation(), 0.05) << result.ports[0].port;
    const uint64_t events = result.packet_lost + result.flow_lost;
    EXPECT_TRUE(Agree(result.packet_lost, result.flow_lost, events))
        << result.packet_lost << " frames lost in the packet model, " << result.flow_lost
        << " in the flow model";
    EXPECT_TRUE(Agree(result.packet_retransmitted, result.flow_retransmitted, events))
        << result.packet_retransmitted << " frames retransmitted in the packet model, "
        << result.flow_retransmitted << " in the flow model";
  }
};

std::string NameOf(const testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

TEST_P(CalibrationTest, BothModelsAgree) { Compare(); }

INSTANTIATE_TEST_SUITE_P(, CalibrationTest,
                         testing::Values("ring-rails", "slow-uplink", "bit-errors", "gray-loss"),
                         NameOf);

using AllCalibrationTest = CalibrationTest;
TEST_P(AllCalibrationTest, DISABLED_BothModelsAgree) { Compare(); }

INSTANTIATE_TEST_SUITE_P(All, AllCalibrationTest,
                         testing::Values("all-to-all", "bit-errors", "checkpoint", "gray-loss",
                                         "halving-doubling", "pipeline", "ring-fat-tree",
                                         "ring-rails", "ring", "slow-uplink", "straggler", "tree",
                                         "two-jobs"),
                         NameOf);

// Two days are, too.
TEST(FlowLimitsTest, ADayIsWithinThem) {
  const std::string path = fmt::format("{}/../../scenarios/day.yaml", ROCESCOPE_CALIBRATION);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto scenario = LoadScenario(text.str(), path);
  ASSERT_TRUE(scenario) << scenario.error().message;
  for (int days = 1; days <= 2; ++days) {
    const auto model = FlowModel::Make(*scenario);
    EXPECT_TRUE(model) << model.error().message;
    scenario->duration *= 2;
  }
}

}  // namespace
}  // namespace rocescope::sim
