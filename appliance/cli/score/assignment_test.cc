// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "base/hash.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Weights = std::vector<std::vector<double>>;

double Sum(const Weights& weights, const std::vector<int>& columns) {
  double sum = 0;
  for (size_t row = 0; row < weights.size(); ++row) {
    if (columns[row] >= 0) sum += weights[row][columns[row]];
  }
  return sum;
}

// The largest sum over all assignments of the rows from `row` on.
double BestSum(const Weights& weights, size_t row, std::vector<bool>& taken) {
  if (row == weights.size()) return 0;
  double best = BestSum(weights, row + 1, taken);
  for (size_t column = 0; column < taken.size(); ++column) {
    if (taken[column] || weights[row][column] == 0) continue;
    taken[column] = true;
    best = std::max(best, weights[row][column] + BestSum(weights, row + 1, taken));
    taken[column] = false;
  }
  return best;
}

TEST(Assignment, GreedyChoiceIsNotOptimal) {
  EXPECT_THAT(AssignByWeight(Weights{{5, 4}, {4, 0}}), ElementsAre(1, 0));
}

TEST(Assignment, ZeroForbidsAPair) {
  EXPECT_THAT(AssignByWeight(Weights{{0, 0}, {0, 1}}), ElementsAre(-1, 1));
}

TEST(Assignment, MoreRowsThanColumns) {
  EXPECT_THAT(AssignByWeight(Weights{{1}, {3}, {2}}), ElementsAre(-1, 0, -1));
}

TEST(Assignment, OneRowGetsTheFirstOfEquallyGoodColumns) {
  EXPECT_THAT(AssignByWeight(Weights{{1, 2, 2, 2}}), ElementsAre(1));
}

TEST(Assignment, NothingToAssign) {
  EXPECT_THAT(AssignByWeight(Weights{}), IsEmpty());
  EXPECT_THAT(AssignByWeight(Weights{{}, {}}), ElementsAre(-1, -1));
}

TEST(Assignment, SumsAreThoseOfAnExhaustiveSearch) {
  uint64_t random = 7;
  for (int round = 0; round < 300; ++round) {
    const size_t rows = 1 + Mix64(++random) % 5;
    const size_t columns = Mix64(++random) % 6;
    Weights weights(rows, std::vector<double>(columns));
    for (std::vector<double>& row : weights) {
      for (double& weight : row) weight = static_cast<double>(Mix64(++random) % 8);
    }
    const std::vector<int> assigned = AssignByWeight(weights);
    std::vector<bool> taken(columns, false);
    for (size_t row = 0; row < rows; ++row) {
      if (assigned[row] < 0) continue;
      EXPECT_FALSE(taken[assigned[row]]) << "a column has two rows";
      taken[assigned[row]] = true;
      EXPECT_GT(weights[row][assigned[row]], 0);
    }
    std::fill(taken.begin(), taken.end(), false);
    EXPECT_EQ(Sum(weights, assigned), BestSum(weights, 0, taken)) << "round " << round;
  }
}

}  // namespace
}  // namespace rocescope
