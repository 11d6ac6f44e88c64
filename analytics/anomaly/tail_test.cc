// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/tail.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rocescope {
namespace {

// Quantiles of an exponential distribution with this mean, at even steps.
std::vector<double> Exponential(double mean, size_t count) {
  std::vector<double> scores(count);
  for (size_t i = 0; i < count; ++i) {
    scores[i] = -mean * std::log(1 - (static_cast<double>(i) + 0.5) / static_cast<double>(count));
  }
  return scores;
}

TEST(Tail, ContinuesAsExponential) {
  const Tail tail(Exponential(2, 10'000));
  // P(score > s) = exp(-s / 2), far beyond the 10,000 observed scores.
  for (const double score : {6.0, 10.0, 20.0, 40.0}) {
    EXPECT_NEAR(std::log(tail.Probability(score)), -score / 2, 0.02 * score);
  }
}

TEST(Tail, IsEmpiricalBelowTheThreshold) {
  const Tail tail(Exponential(2, 1000));
  EXPECT_NEAR(tail.Probability(2 * std::log(2.0)), 0.5, 0.002);
  EXPECT_EQ(tail.Probability(0), 1);
}

TEST(Tail, IsMonotone) {
  const Tail tail(Exponential(1, 100));
  double before = 1;
  for (double score = 0; score < 1000; score += 0.1) {
    const double probability = tail.Probability(score);
    ASSERT_LE(probability, before);
    ASSERT_GT(probability, 0);
    before = probability;
  }
}

TEST(Tail, IsRobustAgainstAFewFaultScores) {
  std::vector<double> scores = Exponential(1, 1000);
  for (size_t i = 0; i < 10; ++i) scores[999 - i] = 1000;  // 1 %
  EXPECT_LT(Tail(scores).Probability(30), 1e-9);
}

TEST(Tail, IsOneWithoutScores) { EXPECT_EQ(Tail().Probability(100), 1); }

TEST(Quantile, IsLinearBetweenNeighbours) {
  EXPECT_EQ(Quantile({1, 2, 4}, 0.5), 2);
  EXPECT_EQ(Quantile({1, 2, 4}, 0.75), 3);
  EXPECT_EQ(Quantile({7}, 0.9), 7);
}

}  // namespace
}  // namespace rocescope
