// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/record_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr RecentLoss::Clock::time_point At(int second) {
  return RecentLoss::Clock::time_point(seconds(1'000 + second));
}

TEST(RecordLoss, ReportsDroppedRecordsForAMinute) {
  RecentLoss recent;
  recent.Note({.taken = 1'000'000, .given_up = 0}, At(0));
  for (int second = 1; second <= 10; ++second) {
    recent.Note({.taken = 1'000'000, .given_up = 0}, At(second));
  }
  const RecordLoss half = recent.Note({.taken = 1'010'000, .given_up = 10'000}, At(11));
  EXPECT_THAT(LossText(half), HasSubstr("dropped 10,000 of 1,020,000 records in the last 11 s"));
  EXPECT_THAT(LossText(recent.Note({.taken = 1'010'000, .given_up = 10'000}, At(65))),
              HasSubstr("dropped 10,000 of 20,000 records in the last 60 s"))
      << "the first seconds are older than a minute";
  EXPECT_THAT(LossText(recent.Note({.taken = 2'000'000, .given_up = 10'000}, At(130))), IsEmpty());
}

TEST(RecordLoss, IgnoresLossBelowOneInAThousand) {
  EXPECT_THAT(LossText({.records = {.taken = 1'000'000, .given_up = 900}}), IsEmpty());
  EXPECT_THAT(LossText({.records = {.taken = 900'000, .given_up = 1'000}}),
              HasSubstr("1,000 of 901,000"));
  EXPECT_THAT(LossText({.records = {.taken = 0, .given_up = 3}}), HasSubstr("3 of 3"));
}

}  // namespace
}  // namespace rocescope
