// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/poisson.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rocescope {
namespace {

// Garwood (1936), table of the 95 % limits; also Pearson and Hartley, Biometrika Tables for
// Statisticians, volume 1, table 40.
TEST(Poisson, IntervalsAreThoseOfTheTable) {
  const struct {
    uint64_t count;
    double low;
    double high;
  } rows[] = {{0, 0, 3.69},     {1, 0.0253, 5.57}, {2, 0.242, 7.22},
              {5, 1.62, 11.67}, {10, 4.80, 18.39}, {30, 20.24, 42.83}};
  for (const auto& row : rows) {
    const Interval interval = PoissonInterval(row.count);
    EXPECT_NEAR(interval.low, row.low, 0.006) << row.count;
    EXPECT_NEAR(interval.high, row.high, 0.006) << row.count;
  }
}

// -ln 0.05, and half of the 95 % quantiles of chi-squared with 4 and 12 degrees of freedom (9.488,
// 21.026).
TEST(Poisson, UpperBoundsAreHalfAQuantileOfChiSquared) {
  EXPECT_NEAR(PoissonUpperBound(0), -std::log(0.05), 1e-9);
  EXPECT_NEAR(PoissonUpperBound(1), 9.488 / 2, 5e-4);
  EXPECT_NEAR(PoissonUpperBound(5), 21.026 / 2, 5e-4);
}

// The skewness of a Poisson distribution vanishes with the count: 1.96 standard deviations, plus
// about (1.96^2 + 2) / 6 + 1/2 on the upper side.
TEST(Poisson, IntervalsOfLargeCountsAreNormal) {
  const Interval interval = PoissonInterval(1'000'000);
  EXPECT_NEAR(interval.low, 1e6 - 1960, 3);
  EXPECT_NEAR(interval.high, 1e6 + 1960, 3);
}

}  // namespace
}  // namespace rocescope
