// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/config/duration.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

TEST(Duration, ParsesNumberAndUnit) {
  EXPECT_EQ(ParseDuration("7ns"), Duration(7));
  EXPECT_EQ(ParseDuration("20us"), Duration(20'000));
  EXPECT_EQ(ParseDuration("100ms"), Duration(100'000'000));
  EXPECT_EQ(ParseDuration("1s"), Duration(1'000'000'000));
  EXPECT_EQ(ParseDuration("15m"), std::chrono::minutes(15));
  EXPECT_EQ(ParseDuration("2h"), std::chrono::hours(2));
  EXPECT_EQ(ParseDuration("30d"), std::chrono::hours(720));
}

TEST(Duration, FormatsInTheLargestUnit) {
  for (const char* text : {"7ns", "1001ns", "100ms", "61s", "15m", "25h", "30d"}) {
    EXPECT_EQ(FormatDuration(*ParseDuration(text)), text);
  }
}

TEST(Duration, RejectsZeroNegativeAndOverflow) {
  for (const char* text : {"0ms", "-1s", "9223372037s", "99999999999999999999ns"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(Duration, RequiresNumberAndUnit) {
  for (const char* text : {"", "100", "ms", "1w", "1 s", "1.5s", "1sx"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

}  // namespace
}  // namespace rocescope
