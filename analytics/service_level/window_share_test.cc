// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/window_share.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace rocescope {
namespace {

constexpr double kNo = std::numeric_limits<double>::quiet_NaN();

// With an objective of 0.95, a long window of 60 tolerates three bad windows and a short one of
// five none.
ServiceLevel Judged(const std::vector<double>& values, std::optional<double> bound = 10) {
  ServiceLevel level{.indicator = ServiceIndicator::kGpuTemperature};  // high is bad
  Judge(values, bound, {}, level);
  return level;
}

std::vector<double> Then(std::vector<double> values, size_t count, double value) {
  values.insert(values.end(), count, value);
  return values;
}

TEST(WindowShare, AValueAtTheBoundIsWithinIt) {
  const ServiceLevel level = Judged({10, 10, 10});
  EXPECT_EQ(level.state, ServiceState::kMet);
  EXPECT_EQ(level.within_long, 1);
  EXPECT_EQ(level.last, 10);
  EXPECT_EQ(level.windows, 3u);
}

TEST(WindowShare, ThreeWindowsOutOfSixtyAreARiskAndFourAreAMiss) {
  EXPECT_EQ(Judged(Then(Then({}, 57, 1), 3, 11)).state, ServiceState::kAtRisk);
  const ServiceLevel missed = Judged(Then(Then({}, 56, 1), 4, 11));
  EXPECT_EQ(missed.state, ServiceState::kMissed);
  EXPECT_DOUBLE_EQ(missed.within_short, 1.0 / 5);
  EXPECT_DOUBLE_EQ(missed.within_long, 56.0 / 60);
}

TEST(WindowShare, AnOldViolationIsNoMiss) {
  const ServiceLevel level = Judged(Then(Then({}, 50, 11), 5, 1));
  EXPECT_EQ(level.state, ServiceState::kMet);
  EXPECT_DOUBLE_EQ(level.within_long, 5.0 / 55);
}

TEST(WindowShare, WindowsBeforeTheLongOneDoNotCount) {
  EXPECT_EQ(Judged(Then(Then({}, 100, 11), 60, 1)).within_long, 1);
}

TEST(WindowShare, OneBadWindowAtTheBeginningIsARiskAlone) {
  EXPECT_EQ(Judged({1, 1, 11}).state, ServiceState::kAtRisk);
}

TEST(WindowShare, WithoutARecentValueOrABoundThereIsNoData) {
  EXPECT_EQ(Judged({}).state, ServiceState::kNoData);
  EXPECT_EQ(Judged({kNo, kNo}).state, ServiceState::kNoData);
  EXPECT_EQ(Judged({1, 2, 3}, std::nullopt).state, ServiceState::kNoData);
  EXPECT_EQ(Judged(Then({1}, 30, kNo)).state, ServiceState::kMet);
  const ServiceLevel stale = Judged(Then({1}, 31, kNo));
  EXPECT_EQ(stale.state, ServiceState::kNoData);
  EXPECT_EQ(stale.last, 1);
}

TEST(WindowShare, ASlowSourceFillsTheShortWindowWithItsLastValues) {
  const ServiceLevel level = Judged({1, kNo, kNo, 1, kNo, kNo, 11, kNo, kNo});
  EXPECT_EQ(level.state, ServiceState::kAtRisk);
  EXPECT_DOUBLE_EQ(level.within_short, 2.0 / 3);
}

TEST(LearntBound, IsSixSpreadsOffTheMedian) {
  // Median 104, distances 4 3 2 1 0 1 2 3 4: their median is 2.
  const std::vector<double> past = {100, 101, 102, 103, 104, 105, 106, 107, 108};
  EXPECT_DOUBLE_EQ(LearntBound(past, Worse::kHigh, 0, {}).value(), 104 + 6 * 1.4826 * 2);
  EXPECT_DOUBLE_EQ(LearntBound(past, Worse::kLow, 0, {}).value(), 104 - 6 * 1.4826 * 2);
}

TEST(LearntBound, LeavesAtLeastTheSlackForConstantValues) {
  EXPECT_DOUBLE_EQ(LearntBound(std::vector<double>(8, 40), Worse::kLow, 0.25, {}).value(), 30);
}

TEST(LearntBound, FewFaultyWindowsAndLaterOnesDoNotMoveIt) {
  std::vector<double> past = {40, 900, 40, kNo, 40, 900, 40, 40, 900, 40, 40};
  EXPECT_DOUBLE_EQ(LearntBound(past, Worse::kHigh, 0.25, {}).value(), 50);
  past.insert(past.end(), 50, 900);
  EXPECT_DOUBLE_EQ(LearntBound(past, Worse::kHigh, 0.25, {}).value(), 50);
}

TEST(LearntBound, NeedsAPast) {
  EXPECT_FALSE(LearntBound(std::vector<double>(4, 40), Worse::kHigh, 0.25, {}).has_value());
  EXPECT_TRUE(LearntBound(std::vector<double>(5, 40), Worse::kHigh, 0.25, {}).has_value());
}

}  // namespace
}  // namespace rocescope
