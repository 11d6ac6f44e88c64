// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/nic_clock.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

constexpr Timestamp At(int64_t ms) {
  return FromNanoseconds(1'700'000'000'000'000'000 + ms * 1'000'000);
}

TEST(NicClock, SaysTheArrivalUntilItKnowsTheRate) {
  NicClock clock;
  EXPECT_EQ(clock.TimeOf(500, At(3)), At(3));
  clock.Anchor(1'000, At(0));
  EXPECT_EQ(clock.TimeOf(1'500, At(3)), At(3));
}

TEST(NicClock, TurnsTicksIntoTimes) {
  NicClock clock;  // 1 MHz
  clock.Anchor(5'000'000, At(0));
  clock.Anchor(6'000'000, At(1000));
  EXPECT_EQ(clock.TimeOf(6'002'000, At(1100)), At(1002));
  EXPECT_EQ(clock.TimeOf(5'999'000, At(1100)), At(999));
}

TEST(NicClock, DoesNotBelieveATimeFarFromTheArrival) {
  NicClock clock;
  clock.Anchor(0, At(0));
  clock.Anchor(1'000'000, At(1000));
  EXPECT_EQ(clock.TimeOf(9'000'000, At(1001)), At(1001));
  EXPECT_EQ(clock.TimeOf(UINT64_MAX / 2, At(1001)), At(1001));
}

TEST(NicClock, BeginsAnewWhenAClockIsSetBack) {
  NicClock clock;
  clock.Anchor(1'000'000, At(0));
  clock.Anchor(2'000'000, At(1000));
  clock.Anchor(10, At(2000));
  EXPECT_EQ(clock.TimeOf(20, At(2001)), At(2001));
  clock.Anchor(1'000'010, At(3000));
  EXPECT_EQ(clock.TimeOf(1'001'010, At(3002)), At(3001));
}

}  // namespace
}  // namespace rocescope
