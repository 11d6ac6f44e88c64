// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/cabling/counter_fit.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

constexpr Timestamp At(int64_t ms) { return FromNanoseconds(ms * 1'000'000); }
constexpr FitTolerance kExact = {.bytes = 0, .periods = 0, .share = 0};

// At 1000 octets a millisecond; read each `step` from `from` on.
PortHistory Steady(int64_t from, int64_t step, int64_t count, uint64_t rate = 1000) {
  PortHistory history;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t ms = from + i * step;
    const auto bytes = static_cast<uint64_t>(ms) * rate;
    history.Add({.time = At(ms), .received = bytes, .sent = bytes});
  }
  return history;
}

TEST(CounterFit, ReadTogetherTheyMustBeEqual) {
  const CounterFit fit = CompareCounters(Steady(0, 1, 10), Steady(0, 1, 10), kExact);
  EXPECT_EQ(fit.readings, 10u);
  EXPECT_EQ(fit.excess, 0u);
  EXPECT_EQ(fit.shortage, 0u);
  EXPECT_EQ(fit.received, 9000u);
}

TEST(CounterFit, ReadBetweenEachOtherTheyAreBoundsOnly) {
  const CounterFit fit = CompareCounters(Steady(0, 10, 10), Steady(5, 10, 9), kExact);
  EXPECT_EQ(fit.excess, 0u);
  EXPECT_EQ(fit.shortage, 0u);
}

// Twice the rate for 80 ms is 80,000 octets more, of which bounds 10 ms apart hide one period.
TEST(CounterFit, MoreThanWasSentIsProvenInSpiteOfThat) {
  const CounterFit fit = CompareCounters(Steady(0, 10, 10), Steady(5, 10, 9, 2000), kExact);
  EXPECT_EQ(fit.excess, 80'000u - 10'000u);
  EXPECT_TRUE(fit.Contradicted());
  EXPECT_FALSE(fit.Fits());
}

TEST(CounterFit, LessThanWasSentIsLossAndNoContradiction) {
  const CounterFit fit = CompareCounters(Steady(0, 1, 10, 2000), Steady(0, 1, 10), kExact);
  EXPECT_EQ(fit.shortage, 9000u);
  EXPECT_FALSE(fit.Contradicted());
  EXPECT_FALSE(fit.Fits());
}

TEST(CounterFit, ReadingsAtOtherTimesSayNothing) {
  const CounterFit fit = CompareCounters(Steady(0, 1, 10), Steady(100, 1, 10), kExact);
  EXPECT_FALSE(fit.Comparable());
  EXPECT_FALSE(fit.Contradicted());
}

// What a counter held before is no matter, and what no port can carry tells nothing.
TEST(CounterFit, CountersMayStandAnywhere) {
  constexpr uint64_t kFar = uint64_t{1} << 63;
  const auto history = [](uint64_t begin, uint64_t step) {
    PortHistory all;
    for (int64_t i = 0; i < 4; ++i) {
      const uint64_t bytes = begin + step * static_cast<uint64_t>(i);
      all.Add({.time = At(i), .received = bytes, .sent = bytes});
    }
    return all;
  };
  const CounterFit fit = CompareCounters(history(5, 1000), history(kFar, 1000), kExact);
  EXPECT_TRUE(fit.Fits());
  EXPECT_EQ(fit.received, 3000u);
  EXPECT_FALSE(CompareCounters(history(0, 1000), history(0, kFar / 2), kExact).Comparable());
}

TEST(PortHistory, KeepsFewReadingsThatSpanAll) {
  const PortHistory history = Steady(0, 1, 10'000);
  EXPECT_LE(history.readings().size(), PortHistory::kMaxReadings);
  EXPECT_GE(history.readings().size(), PortHistory::kMaxReadings / 4);
  EXPECT_EQ(history.readings().front().time, At(0));
  EXPECT_EQ(history.readings().back().time, At(9999));
}

TEST(PortHistory, PortsThatAreReadTogetherKeepTheSameReadings) {
  const CounterFit fit = CompareCounters(Steady(0, 1, 10'000), Steady(0, 1, 10'000), kExact);
  EXPECT_EQ(fit.shortage, 0u);
  EXPECT_EQ(fit.received, 9'999'000u);
}

TEST(PortHistory, ForgetsWhatWasBeforeCountersBeganAnew) {
  PortHistory history = Steady(0, 1, 10);
  history.Add({.time = At(20), .received = 5, .sent = 5});
  EXPECT_EQ(history.readings().size(), 1u);
  EXPECT_TRUE(history.carried());
}

TEST(PortHistory, AStateChangesBetweenTwoReadings) {
  PortHistory history;
  for (const auto& [ms, up] : {std::pair(1, true), std::pair(2, true), std::pair(3, false)}) {
    history.AddState(At(ms), up);
  }
  ASSERT_EQ(history.transitions().size(), 1u);
  EXPECT_EQ(history.transitions()[0].after, At(2));
  EXPECT_EQ(history.transitions()[0].by, At(3));
  EXPECT_FALSE(history.transitions()[0].up);
}

}  // namespace
}  // namespace rocescope
