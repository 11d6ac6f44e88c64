// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/poll_schedule.h"

#include <gtest/gtest.h>

namespace rocescope::sim {
namespace {

using std::chrono::seconds;

constexpr Timestamp kBegin = FromNanoseconds(1'000'000'000);

TEST(PollSchedule, PollsAtTheBeginAndAfterEachPeriod) {
  PollSchedule schedule({.begin = kBegin, .period = seconds(5)});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(schedule.next().time, kBegin + seconds(5) * i);
    EXPECT_EQ(schedule.next().exact, schedule.next().time);
    EXPECT_EQ(schedule.next().arrival, schedule.next().time);
    EXPECT_FALSE(schedule.next().lost);
    schedule.Advance();
  }
}

// Jitter and response times of a whole period never change the order.
TEST(PollSchedule, TimesNeverDecrease) {
  for (uint64_t number = 0; number < 20; ++number) {
    PollSchedule schedule({.begin = kBegin,
                           .period = seconds(5),
                           .jitter = seconds(5),
                           .response = seconds(5),
                           .refresh = seconds(3),
                           .random_phase = true,
                           .number = number});
    Poll before = schedule.next();
    for (int i = 0; i < 1000; ++i) {
      schedule.Advance();
      const Poll& poll = schedule.next();
      ASSERT_GE(poll.time, before.time);
      ASSERT_GE(poll.arrival, before.arrival);
      ASSERT_GE(poll.arrival, poll.time);
      ASSERT_GE(poll.exact, before.exact);
      ASSERT_LE(poll.exact, poll.time);
      ASSERT_LT(poll.time - poll.exact, seconds(3));
      before = poll;
    }
  }
}

TEST(PollSchedule, ScaledTimesAreRoundedAndNeverVanish) {
  EXPECT_EQ(ScaledTime(seconds(30), 1e-3 / 30), std::chrono::milliseconds(1));
  EXPECT_EQ(ScaledTime(Duration(0), 1e-3), Duration(0));
  EXPECT_EQ(ScaledTime(Duration(5), 1e-3), Duration(1));
}

}  // namespace
}  // namespace rocescope::sim
