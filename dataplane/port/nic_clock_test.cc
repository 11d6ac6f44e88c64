// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/nic_clock.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

constexpr Timestamp At(int64_t ms) {
  return FromNanoseconds(1'700'000'000'000'000'000 + ms * 1'000'000);
}

void Read(NicClock& clock, uint64_t ticks, Timestamp now) {
  constexpr auto kApart = std::chrono::nanoseconds(50);
  clock.Anchor(ticks, now - kApart, now + kApart);
}

TEST(NicClock, ReturnsArrivalUntilRateIsKnown) {
  NicClock clock;
  EXPECT_EQ(clock.TimeOf(500, At(3)), At(3));
  Read(clock, 1'000, At(0));
  EXPECT_EQ(clock.TimeOf(1'500, At(3)), At(3));
}

TEST(NicClock, ConvertsTicksToTimes) {
  NicClock clock;  // 1 MHz
  Read(clock, 5'000'000, At(0));
  Read(clock, 6'000'000, At(1000));
  EXPECT_EQ(clock.TimeOf(6'002'000, At(1100)), At(1002));
  EXPECT_EQ(clock.TimeOf(5'999'000, At(1100)), At(999));
}

TEST(NicClock, RejectsTimesFarFromTheArrival) {
  NicClock clock;
  Read(clock, 0, At(0));
  Read(clock, 1'000'000, At(1000));
  EXPECT_EQ(clock.TimeOf(9'000'000, At(1001)), At(1001));
  EXPECT_EQ(clock.TimeOf(UINT64_MAX / 2, At(1001)), At(1001));
}

TEST(NicClock, RestartsWhenAClockIsSetBack) {
  NicClock clock;
  Read(clock, 1'000'000, At(0));
  Read(clock, 2'000'000, At(1000));
  Read(clock, 10, At(2000));
  EXPECT_EQ(clock.TimeOf(20, At(2001)), At(2001));
  Read(clock, 1'000'010, At(3000));
  EXPECT_EQ(clock.TimeOf(1'001'010, At(3002)), At(3001));
}

// NTP or a user sets the system clock, or PTP sets the NIC's clock. 1 MHz, read every 100 ms.
TEST(NicClock, RestartsWhenAClockStepsForward) {
  for (const int64_t nic_step : {0, 500'000}) {
    const int64_t our_step = 500'000 - nic_step;  // us
    NicClock clock;
    Read(clock, 0, At(0));
    Read(clock, 100'000, At(100));
    Read(clock, 200'000 + nic_step, At(200 + our_step / 1000));
    EXPECT_EQ(clock.TimeOf(200'010 + nic_step, At(201)), At(201)) << "the rate is unknown";
    Read(clock, 300'000 + nic_step, At(300 + our_step / 1000));
    EXPECT_EQ(clock.TimeOf(301'000 + nic_step, At(305 + our_step / 1000)),
              At(301 + our_step / 1000));
  }
}

TEST(NicClock, ToleratesSlewedSystemClock) {
  NicClock clock;
  for (int64_t i = 0; i < 100; ++i) {  // 500 ppm, the maximum of ntpd and chrony
    clock.Anchor(i * 100'000, At(i * 100) + Duration(i * 50'000),
                 At(i * 100) + Duration(i * 50'000));
  }
  const Duration off = clock.TimeOf(9'901'000, At(9'906)) - (At(9'901) + Duration(99 * 50'000));
  EXPECT_LT(off, std::chrono::microseconds(2));
  EXPECT_GT(off, std::chrono::microseconds(-2));
}

TEST(NicClock, IgnoresSlowReadings) {
  NicClock clock;
  Read(clock, 0, At(0));
  Read(clock, 1'000'000, At(1000));
  clock.Anchor(1'100'000, At(1100), At(1103));  // the thread was preempted
  EXPECT_EQ(clock.TimeOf(1'101'000, At(1105)), At(1101));
}

}  // namespace
}  // namespace rocescope
