// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/traffic_level.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocescope {
namespace {

constexpr double kBusy = 5e9;  // bytes/s

// Returns the steps of a port with these rates in successive windows.
std::vector<LevelStep> StepsOf(const std::vector<double>& rates) {
  TrafficLevel level;
  std::vector<LevelStep> steps;
  for (size_t window = 0; window < rates.size(); ++window) {
    const auto step = level.Add(static_cast<int64_t>(window), LevelOfRate(rates[window]));
    if (step) steps.push_back(*step);
  }
  return steps;
}

std::vector<double> operator+(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(TrafficLevel, ConvertsRates) {
  EXPECT_NEAR(LevelOfRate(0), 0, 1e-6);
  EXPECT_NEAR(RateOfLevel(LevelOfRate(kBusy)), kBusy, 1e4);
}

TEST(TrafficLevel, FindsARiseAndTheReturn) {
  const auto steps = StepsOf(std::vector<double>(10, 1e4) + std::vector<double>(10, kBusy) +
                             std::vector<double>(10, 2e4));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].onset, 10);
  EXPECT_TRUE(steps[0].up);
  EXPECT_FALSE(steps[0].Returned());
  EXPECT_NEAR(RateOfLevel(steps[0].before), 1e4, 1e3);
  EXPECT_NEAR(RateOfLevel(steps[0].after), kBusy, 1e6);
  EXPECT_EQ(steps[1].onset, 20);
  EXPECT_FALSE(steps[1].up);
  EXPECT_TRUE(steps[1].Returned());
}

TEST(TrafficLevel, IgnoresASingleWindow) {
  EXPECT_TRUE(StepsOf(std::vector<double>(10, kBusy) + std::vector<double>{0} +
                      std::vector<double>(10, kBusy))
                  .empty());
}

TEST(TrafficLevel, FindsAPauseOfTwoWindows) {
  const auto steps = StepsOf(std::vector<double>(10, kBusy) + std::vector<double>(2, 0) +
                             std::vector<double>(10, kBusy));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].onset, 10);
  EXPECT_EQ(steps[1].onset, 12);
  EXPECT_TRUE(steps[1].Returned());
}

// Readings at other times than the windows' ends spread a change over three windows.
TEST(TrafficLevel, FindsOneStepInAGradualChange) {
  const auto steps =
      StepsOf(std::vector<double>(10, 0) + std::vector<double>{0.01 * kBusy, 0.1 * kBusy} +
              std::vector<double>(10, kBusy));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].onset, 10);
}

TEST(TrafficLevel, ToleratesTheUsualSpread) {
  std::vector<double> rates;
  for (int i = 0; i < 40; ++i) rates.push_back(i % 2 == 0 ? kBusy : 0.5 * kBusy);
  EXPECT_TRUE(StepsOf(rates).empty());
}

}  // namespace
}  // namespace rocescope
