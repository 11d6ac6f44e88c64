// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/adjusted_rand.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocescope {
namespace {

using Labels = std::vector<uint32_t>;

TEST(AdjustedRandIndex, IsOneForIdenticalPartitions) {
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{0, 0, 1, 1, 2}, Labels{7, 7, 3, 3, 9}), 1);
}

// 2 of 6 pairs are together in the first partition, 1 in the second, 1 in both: expected 2 * 1 / 6
// = 1/3, at most 3/2; (1 - 1/3) / (3/2 - 1/3) = 4/7.
TEST(AdjustedRandIndex, IsFourSeventhsForASplitCluster) {
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{0, 0, 1, 1}, Labels{0, 0, 1, 2}), 4.0 / 7);
}

// No pair is together in both: (0 - 2/3) / (2 - 2/3) = -1/2.
TEST(AdjustedRandIndex, IsBelowZeroForAnswersWorseThanChance) {
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{0, 0, 1, 1}, Labels{0, 1, 0, 1}), -0.5);
}

// A 3 x 3 table of 15 items, rows (4 1 0), (1 4 0), (0 1 4): together in both 6 + 6 + 6 = 18 pairs,
// in rows 3 * 10 = 30, in columns 10 + 15 + 6 = 31; expected 30 * 31 / 105 = 62/7, at most 61/2.
TEST(AdjustedRandIndex, MatchesTheClosedForm) {
  Labels rows;
  Labels columns;
  const std::vector<std::vector<int>> table = {{4, 1, 0}, {1, 4, 0}, {0, 1, 4}};
  for (uint32_t row = 0; row < 3; ++row) {
    for (uint32_t column = 0; column < 3; ++column) {
      for (int i = 0; i < table[row][column]; ++i) {
        rows.push_back(row);
        columns.push_back(column);
      }
    }
  }
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(rows, columns), (18 - 62.0 / 7) / (61.0 / 2 - 62.0 / 7));
}

TEST(AdjustedRandIndex, IsZeroOrOneForOneTrueCluster) {
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{0, 0, 0}, Labels{5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{0, 0, 0}, Labels{5, 5, 6}), 0);
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{0, 0, 0}, Labels{5, 6, 7}), 0);
}

TEST(AdjustedRandIndex, IsOneForTrivialPartitions) {
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{}, Labels{}), 1);
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{3}, Labels{4}), 1);
  EXPECT_DOUBLE_EQ(AdjustedRandIndex(Labels{0, 1, 2}, Labels{9, 8, 7}), 1);
}

}  // namespace
}  // namespace rocescope
