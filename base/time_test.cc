// SPDX-License-Identifier: BSD-3-Clause
#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace rocescope {
namespace {

using std::chrono::milliseconds;

TEST(TimeTest, NanosecondsRoundTrip) {
  for (const int64_t ns : {int64_t{0}, int64_t{-1}, int64_t{1'782'372'667'669'091'000},
                           std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(ToNanoseconds(FromNanoseconds(ns)), ns);
  }
}

TEST(TimeTest, DifferenceOfTimesIsADuration) {
  EXPECT_EQ(FromNanoseconds(5'000'000) - FromNanoseconds(2'000'000), milliseconds(3));
}

TEST(TimeTest, SumsAndDifferencesOfBoundsFitInto64Bits) {
  const int64_t latest = ToNanoseconds(kLatestTime);
  int64_t ignored;

  EXPECT_FALSE(__builtin_add_overflow(latest, latest, &ignored));
  EXPECT_FALSE(__builtin_sub_overflow(-latest, latest, &ignored));
  // The latest possible pcap timestamp: the largest seconds value and, in an invalid file, 2^32 us.
  EXPECT_GT(latest, 0xffffffff * int64_t{1'000'000'000} + 0xffffffff * int64_t{1'000});
}

TEST(TimeTest, ClampsTimesToBounds) {
  EXPECT_EQ(WithinBounds(Timestamp::min()), kEarliestTime);
  EXPECT_EQ(WithinBounds(FromNanoseconds(-1)), kEarliestTime);
  EXPECT_EQ(WithinBounds(FromNanoseconds(7)), FromNanoseconds(7));
  EXPECT_EQ(WithinBounds(Timestamp::max()), kLatestTime);
}

TEST(TimeTest, IntervalIncludesStartAndExcludesEnd) {
  EXPECT_EQ(IntervalIndex(FromNanoseconds(99'999'999), milliseconds(100)), 0);
  EXPECT_EQ(IntervalIndex(FromNanoseconds(100'000'000), milliseconds(100)), 1);
}

TEST(TimeTest, IntervalsBefore1970RoundDown) {
  EXPECT_EQ(IntervalIndex(FromNanoseconds(-1), milliseconds(100)), -1);
  EXPECT_EQ(IntervalIndex(FromNanoseconds(-100'000'000), milliseconds(100)), -1);
  EXPECT_EQ(IntervalIndex(FromNanoseconds(-100'000'001), milliseconds(100)), -2);
}

}  // namespace
}  // namespace rocescope
