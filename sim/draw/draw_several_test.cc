// SPDX-License-Identifier: BSD-3-Clause
// Draws of several faults and of benign events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "sim/draw/draw.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

class DrawSeveralTest : public ::testing::Test {
 protected:
  DrawSeveralTest() {
    std::ifstream file(ROCESCOPE_PRIORS, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    options_.priors = LoadPriors(text, "priors.yaml").value();
    options_.stratified = true;
    options_.most_faults = kMaxConcurrent;
    options_.seed = 3;
  }
  DrawnScenario Draw(uint32_t number) const {
    auto drawn = DrawScenario(options_, number);
    EXPECT_TRUE(drawn.has_value()) << drawn.error().message;
    return drawn.value_or(DrawnScenario{});
  }
  static Scenario Load(const DrawnScenario& drawn) {
    auto scenario = LoadScenario(drawn.yaml, drawn.name);
    EXPECT_TRUE(scenario.has_value()) << scenario.error().message << "\n" << drawn.yaml;
    return *std::move(scenario);
  }
  // The switches and hosts at the place of a fault.
  static std::set<topology::NodeIndex> NodesAt(const topology::Fabric& fabric,
                                               const FaultOptions& fault) {
    switch (InfoOf(fault.kind).place) {
      case PlaceKind::kLink:
        return {fabric.port(fabric.link(fault.link).ends[0]).node,
                fabric.port(fabric.link(fault.link).ends[1]).node};
      case PlaceKind::kSwitch:
        return {fault.node};
      case PlaceKind::kNic:
        return {fabric.nic(fault.nic).host};
      case PlaceKind::kGpu:
        return {fabric.gpu(fault.gpu).host};
    }
    return {};
  }

  DrawOptions options_;
};

TEST_F(DrawSeveralTest, NumbersAndPlacesOfFaultsFollowThePriors) {
  std::map<size_t, uint32_t> counts;
  uint32_t several = 0;
  uint32_t near = 0;
  uint32_t growing = 0;
  uint32_t can_grow = 0;
  constexpr uint32_t kCount = 150;
  for (uint32_t number = 1; number <= kCount; ++number) {
    const DrawnScenario drawn = Draw(number);
    const Scenario scenario = Load(drawn);
    ASSERT_EQ(scenario.faults.size(), drawn.kinds.size());
    ++counts[drawn.kinds.size()];
    for (size_t i = 0; i < scenario.faults.size(); ++i) {
      const FaultOptions& fault = scenario.faults[i];
      EXPECT_EQ(fault.kind, drawn.kinds[i]);
      EXPECT_LT(fault.onset, scenario.duration);
      growing += fault.growth < 1;
      can_grow += CanGrow(fault.kind);
      for (size_t j = 0; j < i; ++j) {
        const FaultOptions& other = scenario.faults[j];
        EXPECT_FALSE(other.kind == fault.kind && other.link == fault.link &&
                     other.node == fault.node && other.nic == fault.nic && other.gpu == fault.gpu)
            << drawn.name;
      }
    }
    if (scenario.faults.size() < 2) continue;
    ++several;
    const auto first = NodesAt(*scenario.fabric, scenario.faults[0]);
    near += std::all_of(
        scenario.faults.begin() + 1, scenario.faults.end(), [&](const FaultOptions& fault) {
          const auto own = NodesAt(*scenario.fabric, fault);
          return std::any_of(own.begin(), own.end(),
                             [&](topology::NodeIndex node) { return first.contains(node); });
        });
  }
  EXPECT_EQ(counts[0], kCount * 3 / 10);  // healthy
  for (size_t faults = 1; faults <= kMaxConcurrent; ++faults) EXPECT_GT(counts[faults], 0u);
  EXPECT_EQ(counts.size(), kMaxConcurrent + 1);
  // Weights 50, 30, 15, 5: half of the 105 have one fault, with a standard deviation of 5.
  EXPECT_NEAR(counts[1], 52, 20);
  // A share of 0.3 is at one place; some kinds have no place there, and others are near by chance.
  EXPECT_GT(near, several / 10);
  EXPECT_LT(near, several * 6 / 10);
  EXPECT_GT(growing, 0u);
  EXPECT_LT(growing, can_grow / 2);
}

TEST_F(DrawSeveralTest, LossRatesCoverTheWholeRange) {
  uint32_t rare = 0;
  uint32_t losses = 0;
  for (uint32_t number = 1; number <= 150; ++number) {
    for (const FaultOptions& fault : Load(Draw(number)).faults) {
      if (fault.kind != FaultKind::kGrayLoss && fault.kind != FaultKind::kBitErrors &&
          fault.kind != FaultKind::kCorruption) {
        continue;
      }
      EXPECT_GE(fault.probability, 2.9e-8);  // written with three digits
      EXPECT_LE(fault.probability, 1.01e-2);
      ++losses;
      rare += fault.probability < 1e-5;
    }
  }
  ASSERT_GT(losses, 15u);
  // 47 % are in the first bucket of CorrOpt's table.
  EXPECT_GT(rare, losses / 5);
  EXPECT_LT(rare, losses * 4 / 5);
}

TEST_F(DrawSeveralTest, LiftedLossRatesAreVisible) {
  options_.lift = true;
  for (uint32_t number = 1; number <= 60; ++number) {
    for (const FaultOptions& fault : Load(Draw(number)).faults) {
      if (fault.kind != FaultKind::kGrayLoss) continue;
      EXPECT_GT(fault.probability, 1e-5);
    }
  }
}

TEST_F(DrawSeveralTest, WindowsSetTheLengthOfTheRun) {
  options_.windows = 300;
  EXPECT_EQ(Load(Draw(1)).duration, 300 * kMillisecond);
}

TEST_F(DrawSeveralTest, BenignEventsAreDrawnAndLoad) {
  options_.benign = true;
  uint32_t maintenance = 0;
  uint32_t restarts = 0;
  uint32_t checkpoints = 0;
  uint32_t interludes = 0;
  uint32_t sprays = 0;
  for (uint32_t number = 1; number <= 60; ++number) {
    const Scenario scenario = Load(Draw(number));
    EXPECT_TRUE(scenario.benign.bit_error_ratio.on());
    EXPECT_GT(scenario.benign.frame_errors.ports, 0);
    EXPECT_FALSE(scenario.foreign.empty());
    maintenance += static_cast<uint32_t>(scenario.maintenance.size());
    sprays += scenario.network.switches.spray;
    for (const JobOptions& job : scenario.jobs) {
      restarts += static_cast<uint32_t>(job.restarts.size());
      checkpoints += job.checkpoint.every > 0;
      interludes += static_cast<uint32_t>(job.interludes.size());
    }
  }
  for (const uint32_t count : {maintenance, restarts, checkpoints, interludes, sprays}) {
    EXPECT_GT(count, 0u);
  }
}

// Benign events have a random stream of their own.
TEST_F(DrawSeveralTest, BenignEventsDoNotChangeTheFaults) {
  const Scenario without = Load(Draw(5));
  options_.benign = true;
  const Scenario with = Load(Draw(5));
  ASSERT_EQ(with.faults.size(), without.faults.size());
  for (size_t i = 0; i < with.faults.size(); ++i) {
    EXPECT_EQ(with.faults[i].kind, without.faults[i].kind);
    EXPECT_EQ(with.faults[i].onset, without.faults[i].onset);
    EXPECT_EQ(with.faults[i].link, without.faults[i].link);
  }
}

}  // namespace
}  // namespace rocescope::sim
