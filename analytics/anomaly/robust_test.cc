// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/robust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/median.h"

namespace rocescope {
namespace {

using testing::ElementsAre;

// By definition: remove one value and sort the rest.
TEST(LeaveOneOut, IsTheDistanceFromTheMedianOfTheOthers) {
  const std::vector<float> series = {4, 9, 4, -1, 7, 7, 30};
  for (size_t count = 2; count <= series.size(); ++count) {
    std::vector<NumberedValue> values;
    for (size_t i = 0; i < count; ++i) values.push_back({series[i], i});
    std::vector<float> off(count);
    const float all = FillLeaveOneOut(values, [&](size_t i, float one) { off[i] = one; });
    EXPECT_EQ(all,
              MedianOf(std::vector(series.begin(), series.begin() + static_cast<long>(count))));
    for (size_t out = 0; out < count; ++out) {
      std::vector<float> others;
      for (size_t i = 0; i < count; ++i) {
        if (i != out) others.push_back(series[i]);
      }
      EXPECT_EQ(off[out], series[out] - MedianOf(others));
    }
  }
}

using Windows = std::vector<std::vector<float>>;

Spreads FindSpreads(const Windows& windows, size_t entities, double least) {
  const std::vector<std::span<const float>> spans(windows.begin(), windows.end());
  return SpreadsOf(spans, entities, least);
}

TEST(Spreads, EqualStandardDeviationForNormalData) {
  Windows windows;
  // Quantiles of the half-normal distribution: erf(x / √2) = share, by bisection.
  for (int i = 0; i < 1000; ++i) {
    const double share = (i + 0.5) / 1000;
    double low = 0, high = 10;
    for (int step = 0; step < 60; ++step) {
      const double middle = (low + high) / 2;
      (std::erf(middle / std::sqrt(2.0)) < share ? low : high) = middle;
    }
    windows.push_back({static_cast<float>(3 * low), static_cast<float>(-3 * low)});
  }
  const Spreads spreads = FindSpreads(windows, 2, 0.1);
  EXPECT_NEAR(spreads.of_all, 3, 0.05);
  EXPECT_EQ(spreads.of_each.size(), 2u);
  EXPECT_NEAR(spreads.of_each[0], 3, 0.05);
}

TEST(Spreads, IgnoreMissingValuesAndHaveAMinimum) {
  constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
  const Spreads spreads = FindSpreads(Windows(10, {kMissing, 0.0F}), 2, 0.25);
  EXPECT_EQ(spreads.of_all, 0.25);
  EXPECT_THAT(spreads.of_each, ElementsAre(0, 0));
}

// 60 of 100 distances are 0.
TEST(Spreads, CountZerosAsDistances) {
  Windows windows(60, {0.0F});
  for (int i = 1; i <= 40; ++i) windows.push_back({static_cast<float>(i)});
  const Spreads spreads = FindSpreads(windows, 1, 0.25);
  EXPECT_NEAR(spreads.of_all, 30 / 1.6449, 1e-6) << "the value of rank 89";
  EXPECT_FLOAT_EQ(spreads.of_each[0], 31 / 1.6449F);
}

}  // namespace
}  // namespace rocescope
