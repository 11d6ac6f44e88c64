// SPDX-License-Identifier: BSD-3-Clause
#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace rocescope {
namespace {

using std::chrono::milliseconds;

TEST(TimeTest, NanosecondsSurviveTheWayThereAndBack) {
  for (const int64_t ns : {int64_t{0}, int64_t{-1}, int64_t{1'782'372'667'669'091'000},
                           std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(ToNanoseconds(FromNanoseconds(ns)), ns);
  }
}

TEST(TimeTest, TimesDifferByDurations) {
  EXPECT_EQ(FromNanoseconds(5'000'000) - FromNanoseconds(2'000'000), milliseconds(3));
}

TEST(TimeTest, AnIntervalHoldsItsBeginAndNotItsEnd) {
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
