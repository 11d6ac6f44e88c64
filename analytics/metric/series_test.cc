// SPDX-License-Identifier: BSD-3-Clause
// Counters with impossible readings.
#include "analytics/metric/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kWindow = std::chrono::milliseconds(1);
// 100 per window, or 200 if a reading's timestamp may be late.
constexpr CounterLimits kSlow = {.most_a_ns = 100e-6};

// Read at the end of each window, first at the start of window 0.
MetricSeries Read(std::initializer_list<uint64_t> values, const CounterLimits& limits = kSlow) {
  MetricSeries series;
  int64_t window = 0;
  for (const uint64_t value : values) {
    series.AddCounter(Timestamp(window++ * kWindow), value, limits, kWindow);
  }
  return series;
}

TEST(BrokenCounter, IncrementsDuringAResetAreUnknownAndLaterOnesCount) {
  const MetricSeries series = Read({50, 60, 0, 4, 9});
  EXPECT_THAT(series.unknown(), ElementsAre(1));
  EXPECT_THAT(series.windows(),
              ElementsAre(WindowValue{0, 10}, WindowValue{2, 4}, WindowValue{3, 5}));
  EXPECT_EQ(series.restarts(), 1u);
  EXPECT_TRUE(series.IsKnown(0));
  EXPECT_FALSE(series.IsKnown(1));
}

TEST(BrokenCounter, ATransientZeroIsNoIncrement) {
  const MetricSeries series = Read({1000, 1000, 0, 1000, 1001});
  EXPECT_THAT(series.windows(), ElementsAre(WindowValue{3, 1}));
  EXPECT_THAT(series.unknown(), ElementsAre(1, 2));
}

TEST(BrokenCounter, SeveralTransientZerosAreNoIncrement) {
  const MetricSeries series = Read({50, 50, 0, 0, 52, 53});
  EXPECT_THAT(series.unknown(), ElementsAre(1, 2, 3));
  EXPECT_EQ(series.Sum(0, 5), 3u);
}

TEST(BrokenCounter, ACounterThatReturnsMuchLaterHasGrown) {
  EXPECT_EQ(Read({50, 0, 0, 0, 0, 0, 60}).Sum(0, 6), 60u);
}

TEST(BrokenCounter, AnImpossibleJumpIsIgnored) {
  const MetricSeries series = Read({5, 5, uint64_t{1} << 63, 7, 8});
  EXPECT_EQ(series.Sum(0, 4), 3u);
  EXPECT_THAT(series.unknown(), ElementsAre(1, 2));
}

TEST(BrokenCounter, ACounterThatContinuesAfterAJumpIsFollowed) {
  const MetricSeries series = Read({5, 5, 1'000'005, 1'000'006, 1'000'008});
  EXPECT_THAT(series.windows(), ElementsAre(WindowValue{2, 1}, WindowValue{3, 2}));
  EXPECT_THAT(series.unknown(), ElementsAre(1));
}

TEST(BrokenCounter, EachReadingReturnsItsFate) {
  MetricSeries series;
  const auto read = [&](int64_t window, uint64_t value) {
    return series.AddCounter(Timestamp(window * kWindow), value, kSlow, kWindow);
  };
  EXPECT_EQ(read(3, 50), ReadingFate::kTaken);
  EXPECT_EQ(read(3, 50), ReadingFate::kTaken) << "the same line twice";
  EXPECT_EQ(read(3, 51), ReadingFate::kLate);
  EXPECT_EQ(read(2, 40), ReadingFate::kLate);
  EXPECT_EQ(read(4, 49), ReadingFate::kBackwards);
  EXPECT_EQ(read(5, 60), ReadingFate::kTaken);
  EXPECT_EQ(read(6, 1'000'000), ReadingFate::kImpossible);
  EXPECT_EQ(read(7, 61), ReadingFate::kTaken);
}

TEST(BrokenCounter, ANarrowerCounterThanReportedMayWrap) {
  constexpr uint64_t kRange = uint64_t{1} << 32;
  EXPECT_THAT(Read({kRange - 10, 20, 20}).windows(), ElementsAre(WindowValue{0, 30}));
  EXPECT_THAT(Read({UINT64_MAX - 9, 20, 20}).windows(), ElementsAre(WindowValue{0, 30}));
  EXPECT_THAT(Read({kRange - 10, 200}).unknown(), ElementsAre(0)) << "210 are too many";
  EXPECT_THAT(Read({kRange / 2, 0}).unknown(), ElementsAre(0));
}

TEST(BrokenCounter, WithoutARateADecreaseIsAReset) {
  EXPECT_THAT(Read({UINT32_MAX, 1}, {}).unknown(), ElementsAre(0));
  EXPECT_THAT(Read({UINT32_MAX, 1, 1}, {.bits = 32}).windows(), ElementsAre(WindowValue{0, 2}));
}

TEST(BrokenCounter, ArbitraryNumbersAreNoIncrement) {
  const MetricSeries series =
      Read({9'000'000'000'000, 17, 5'000'000'000, 88'888, 12'345'678'901, 3'000'000});
  EXPECT_THAT(series.windows(), IsEmpty());
  EXPECT_THAT(series.unknown(), ElementsAre(0, 1, 2, 3, 4));
}

// Three readings per window. Those at 1.8 and 3.1 windows are missing, so the counter is
// interpolated at the ends of windows 1 and 2.
TEST(SkippedWindow, IsOneWithoutItsLastReading) {
  MetricSeries series;
  for (const int64_t third : {0, 1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13}) {
    const Timestamp time(third * kWindow / 3 + kWindow / 10);
    series.AddCounter(time, static_cast<uint64_t>(third), kSlow, kWindow);
  }
  EXPECT_THAT(series.skipped(), ElementsAre(1, 2));
}

TEST(SkippedWindow, IsOneBetweenTwoReadings) {
  MetricSeries series;
  for (const int64_t window : {0, 1, 4, 5}) {
    series.AddCounter(Timestamp(window * kWindow), static_cast<uint64_t>(window), kSlow, kWindow);
  }
  EXPECT_THAT(series.skipped(), ElementsAre(1, 2));
  EXPECT_THAT(series.unknown(), IsEmpty());
}

}  // namespace
}  // namespace rocescope
