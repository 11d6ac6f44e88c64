// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace rocescope::sim {
namespace {

TEST(RandomTest, SameSeedGivesTheSameStream) {
  Random a(7, "wred", 3);
  Random b(7, "wred", 3);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.Next(), b.Next());
}

TEST(RandomTest, PurposeNumberAndSeedChangeTheStream) {
  const uint64_t first = Random(7, "wred", 3).Next();
  EXPECT_NE(Random(7, "wred", 4).Next(), first);
  EXPECT_NE(Random(7, "loss", 3).Next(), first);
  EXPECT_NE(Random(8, "wred", 3).Next(), first);
}

// Chi-square with 15 degrees of freedom exceeds 37.7 for one seed in a thousand.
TEST(RandomTest, BelowIsUniform) {
  Random random(1);
  std::array<int, 16> counts{};
  constexpr int kDraws = 160'000;
  for (int i = 0; i < kDraws; ++i) ++counts[random.Below(16)];
  double chi = 0;
  for (const int count : counts) chi += std::pow(count - kDraws / 16.0, 2) / (kDraws / 16.0);
  EXPECT_LT(chi, 37.7);
}

TEST(RandomTest, ChanceHasItsProbability) {
  Random random(1);
  int hits = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) hits += random.Chance(0.01);
  const double deviation = std::sqrt(kDraws * 0.01 * 0.99);
  EXPECT_NEAR(hits, kDraws * 0.01, 4 * deviation);
}

}  // namespace
}  // namespace rocescope::sim
