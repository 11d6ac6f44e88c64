// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/utc_text.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

// `date -u -d @1714564800`: Wed May  1 12:00:00 UTC 2024.
constexpr int64_t kNoon = 1'714'564'800'000'000'000;

TEST(UtcText, IsTruncatedToTheRequestedDigits) {
  EXPECT_EQ(UtcTime(kNoon + 4'000'250'999), "12:00:04.000");
  EXPECT_EQ(UtcTime(kNoon + 4'000'250'999, TimeDigits::kMicroseconds), "12:00:04.000250");
  EXPECT_EQ(UtcDayAndTime(kNoon + 9'000, TimeDigits::kMicroseconds), "2024-05-01 12:00:00.000009");
}

TEST(UtcText, ADayEndsAtMidnight) {
  EXPECT_TRUE(IsSameUtcDay(kNoon, kNoon + 43'199'999'999'999));
  EXPECT_FALSE(IsSameUtcDay(kNoon, kNoon + 43'200'000'000'000));
}

}  // namespace
}  // namespace rocescope
