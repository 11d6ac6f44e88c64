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

TEST(SpreadSum, EqualsStandardDeviationForNormalData) {
  SpreadSum sum(2, 1);
  // Quantiles of the half-normal distribution: erf(x / √2) = share, by bisection.
  for (int i = 0; i < 1000; ++i) {
    const double share = (i + 0.5) / 1000;
    double low = 0, high = 10;
    for (int step = 0; step < 60; ++step) {
      const double middle = (low + high) / 2;
      (std::erf(middle / std::sqrt(2.0)) < share ? low : high) = middle;
    }
    sum.Add(std::array{static_cast<float>(3 * low), static_cast<float>(-3 * low)});
  }
  EXPECT_NEAR(sum.OfAll(0.1)[0], 3, 0.05);
  EXPECT_EQ(sum.OfEach().size(), 2u);
  EXPECT_NEAR(sum.OfEach()[0], 3, 0.05);
}

TEST(SpreadSum, IgnoresMissingValuesAndHasAMinimum) {
  SpreadSum sum(1, 2);
  for (int i = 0; i < 10; ++i) sum.Add(std::array{std::numeric_limits<float>::quiet_NaN(), 0.0F});
  EXPECT_THAT(sum.OfAll(0.25), ElementsAre(0.25, 0.25));
}

}  // namespace
}  // namespace rocescope
