// SPDX-License-Identifier: BSD-3-Clause
// Krichevsky and Trofimov, The performance of universal encoding, 1981: (did not + 1/2) / (all +
// 1).
#include "analytics/diagnosis/doubt.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

TEST(ChanceOfNone, IsEvenAsLongAsNothingIsKnown) { EXPECT_DOUBLE_EQ(ChanceOfNone(0, 0), 0.5); }

TEST(ChanceOfNone, CountsHalfAnEventOfEachKindMore) {
  EXPECT_DOUBLE_EQ(ChanceOfNone(1, 0), 0.25);
  EXPECT_DOUBLE_EQ(ChanceOfNone(0, 1), 0.75);
  EXPECT_DOUBLE_EQ(ChanceOfNone(6, 3), 0.35);
}

TEST(ChanceOfNone, AndThatOfOneMakeUpAll) {
  EXPECT_DOUBLE_EQ(ChanceOfNone(17, 4) + ChanceOfNone(4, 17), 1);
}

// One after the other, the estimates give a row of n that did not happen the chance (2n choose n) /
// 4^n: for six of them 924 / 4096.
TEST(ChanceOfNone, OfARowIsTheMiddleBinomialCoefficient) {
  double chance = 1;
  for (size_t did_not = 0; did_not < 6; ++did_not) chance *= ChanceOfNone(0, did_not);
  EXPECT_DOUBLE_EQ(chance, 924.0 / 4096);
}

TEST(ChanceOfNone, IsNeverLessThanAnAccidents) {
  EXPECT_GT(ChanceOfNone(48, 0), 0.01) << "0.5 / 49";
  EXPECT_DOUBLE_EQ(ChanceOfNone(49, 0), 0.01) << "0.5 / 50";
  EXPECT_DOUBLE_EQ(ChanceOfNone(1'000'000, 0), 0.01);
}

TEST(DoubtRun, OfNoWindowSaysNothing) {
  const DoubtRun run;
  EXPECT_EQ(run.windows(), 0u);
  EXPECT_EQ(run.doubt(), 0);
  EXPECT_EQ(run.detected_at(), std::nullopt);
}

TEST(DoubtRun, OneWindowNeverSuffices) {
  DoubtRun run;
  for (int i = 0; i < 10; ++i) run.Add(5, 0.01);
  EXPECT_EQ(run.windows(), 1u);
  EXPECT_EQ(run.detected_at(), std::nullopt);
  run.Add(6, 0.99);
  EXPECT_EQ(run.detected_at(), 6u) << "the first had left no doubt";
}

// 1 / 50 * 1 / 10 * 1 / 20 is one in ten thousand.
TEST(DoubtRun, TheDetectionIsTheWindowInWhichItWasPassed) {
  DoubtRun run;
  run.Add(3, 0.02);
  run.Add(4, 0.1);
  EXPECT_EQ(run.detected_at(), std::nullopt);
  run.Add(9, 0.05);
  EXPECT_EQ(run.detected_at(), 9u);
  run.Add(10, 0.01);
  EXPECT_EQ(run.detected_at(), 9u) << "and stays so";
  EXPECT_EQ(run.first(), 3u);
  EXPECT_EQ(run.last(), 10u);
  EXPECT_EQ(run.windows(), 4u);
  EXPECT_NEAR(run.doubt(), std::log(1e-6), 1e-9);
}

TEST(DoubtRun, ALittleMoreThanOneInTenThousandIsChance) {
  DoubtRun run;
  run.Add(3, 0.01);
  run.Add(4, 0.0102);
  EXPECT_EQ(run.detected_at(), std::nullopt);
}

TEST(ConfidenceFromCount, EachEventHalvesTheDoubt) {
  EXPECT_EQ(ConfidenceFromCount(0, 0.98), 0);
  EXPECT_DOUBLE_EQ(ConfidenceFromCount(1, 0.98), 0.49);
  EXPECT_DOUBLE_EQ(ConfidenceFromCount(2, 0.98), 0.735);
  EXPECT_DOUBLE_EQ(ConfidenceFromCount(86, 0.98), 0.98);
}

}  // namespace
}  // namespace rocescope
