// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/period.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rocescope {
namespace {

constexpr size_t kLength = 1200;

// Bursts of `width` stretches from `first` on, every `period`, each shifted by what `jitter` says.
template <typename Jitter>
Bits Bursts(double first, double period, size_t width, const Jitter& jitter) {
  Bits bits;
  for (double at = first; at < kLength; at += period) {
    const auto begin = static_cast<size_t>(std::max(0.0, at + jitter()));
    for (size_t i = begin; i < std::min(kLength, begin + width); ++i) bits.Set(i);
  }
  return bits;
}
Bits Bursts(double first, double period, size_t width) {
  return Bursts(first, period, width, [] { return 0.0; });
}

std::optional<Period> PeriodOf(std::vector<Bits> series) {
  std::vector<const Bits*> pointers;
  for (const Bits& one : series) pointers.push_back(&one);
  return FindPeriod(pointers, kLength);
}

TEST(BitsCountRepeated, IsTheOverlapWithWhatComesLater) {
  std::mt19937 random(7);
  Bits bits;
  std::vector<bool> plain(Bits::kCount);
  for (size_t i = 0; i < Bits::kCount; ++i) {
    if (random() % 3 != 0) continue;
    bits.Set(i);
    plain[i] = true;
  }
  for (const size_t lag : {0u, 1u, 63u, 64u, 65u, 700u, 2047u}) {
    size_t expected = 0;
    for (size_t i = 0; i + lag < Bits::kCount; ++i) expected += plain[i] && plain[i + lag];
    EXPECT_EQ(bits.CountRepeated(lag), expected) << lag;
  }
}

TEST(BitsWidened, HasNeighboursAcrossWords) {
  Bits bits;
  bits.Set(63);
  bits.Set(128);
  const Bits wide = bits.Widened(2);
  EXPECT_EQ(wide.Count(), 10u);
  for (const size_t i : {61u, 62u, 64u, 65u, 126u, 127u, 129u, 130u}) EXPECT_TRUE(wide.Test(i));
}

TEST(FindPeriod, OfRegularBurstsIsTheirs) {
  const auto period = PeriodOf({Bursts(11, 53.4, 9)});
  ASSERT_TRUE(period);
  EXPECT_NEAR(period->intervals, 53.4, 0.1);
  EXPECT_GT(period->strength, 0.8);
}

TEST(FindPeriod, IsNotHalvedByTwoPhasesOnDifferentQueuePairs) {
  const auto period = PeriodOf({Bursts(5, 60, 8), Bursts(35, 60, 8)});
  ASSERT_TRUE(period);
  EXPECT_NEAR(period->intervals, 60, 0.2);
}

TEST(FindPeriod, IsNotThatOfStepsWithinABurst) {
  Bits bits;  // eight short bursts, 12 apart, then nothing: 20 times
  for (size_t begin = 0; begin + 240 <= kLength; begin += 240) {
    for (size_t step = 0; step < 8; ++step) {
      for (size_t i = 0; i < 4; ++i) bits.Set(begin + step * 12 + i);
    }
  }
  const auto period = PeriodOf({bits});
  ASSERT_TRUE(period);
  EXPECT_NEAR(period->intervals, 240, 1);
}

TEST(FindPeriod, BearsJitter) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, 1.5);
  const auto period = PeriodOf({Bursts(20, 47, 10, [&] { return normal(random); })});
  ASSERT_TRUE(period);
  EXPECT_NEAR(period->intervals, 47, 0.4);
}

TEST(FindPeriod, DoesNotSeeOneInWhatComesAtRandom) {
  int found = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> gap(1.0 / 30);
    Bits bits;  // a Poisson process of bursts of 6
    for (double at = gap(random); at < kLength; at += gap(random)) {
      for (size_t i = 0; i < 6 && at + static_cast<double>(i) < kLength; ++i) {
        bits.Set(static_cast<size_t>(at) + i);
      }
    }
    const auto period = PeriodOf({bits});
    found += period && period->strength > 0.3;  // what makes a job's seed
  }
  EXPECT_LE(found, 2);
}

TEST(FindPeriod, NeedsThreeRepetitions) {
  EXPECT_FALSE(PeriodOf({Bursts(10, 700, 50)}));
  EXPECT_FALSE(PeriodOf({Bits()}));
  EXPECT_FALSE(FindPeriod({}, kLength));
}

TEST(StrengthAt, TellsInStepFromOutOfStep) {
  const Bits bits = Bursts(3, 50, 6);
  EXPECT_GT(StrengthAt(bits, kLength, 50), 0.8);
  EXPECT_GT(StrengthAt(bits, kLength, 50.8), 0.5);  // nearly
  EXPECT_LT(StrengthAt(bits, kLength, 61), 0.3);
}

}  // namespace
}  // namespace rocescope
