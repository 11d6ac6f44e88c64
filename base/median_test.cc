// SPDX-License-Identifier: BSD-3-Clause
#include "base/median.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rocescope {
namespace {

TEST(MedianOf, ReturnsMiddleValueOrMeanOfTwo) {
  EXPECT_EQ(MedianOf(std::vector{2.0}), 2);
  EXPECT_EQ(MedianOf(std::vector{5.0, 1.0, 3.0}), 3);
  EXPECT_EQ(MedianOf(std::vector{5.0F, 1.0F, 3.0F, 4.0F}), 3.5F);
}

TEST(UpperMedianOf, ReturnsMiddleValueOrUpperOfTwo) {
  EXPECT_EQ(UpperMedianOf(std::vector{2.0}), 2);
  EXPECT_EQ(UpperMedianOf(std::vector{5.0, 1.0, 3.0}), 3);
  EXPECT_EQ(UpperMedianOf(std::vector<int64_t>{5, 1, 3, 4}), 4);
}

// The values 0 to n - 1 in some order, because 7 and n have no common divisor. The mean-based
// median is (n - 1) / 2, and the upper median is n / 2 rounded down.
TEST(MedianOf, MatchesKnownMedianOfConsecutiveNumbers) {
  for (const size_t count : {1, 2, 3, 4, 5, 10, 99, 100}) {
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(7 * i % count));
    EXPECT_EQ(MedianOf(values), static_cast<double>(count - 1) / 2);
    EXPECT_EQ(UpperMedianOf(values), static_cast<double>(count / 2));
  }
}

TEST(MedianOf, DoesNotReorderValuesOutsideTheRange) {
  std::vector<double> values = {9, 8, 7, 1};
  EXPECT_EQ(MedianOf(std::span(values).first(3)), 8);
  EXPECT_EQ(values[3], 1);
}

}  // namespace
}  // namespace rocescope
