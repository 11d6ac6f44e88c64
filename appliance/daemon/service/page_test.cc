// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/page.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

TEST(PageToken, RoundTrips) {
  const PageToken token = {.version = 7, .offset = 200, .request = 18446744073709551615u};
  EXPECT_EQ(ParsePageToken(ToText(token)), token);
}

TEST(PageToken, RejectsOtherText) {
  for (const char* text : {"", ".", "7", "7.", "7.1", ".1.1", "7.0.1", "-1.1.1", "7.1.1 ",
                           "7.1.1.1", "7.1.", "x.1.1", "99999999999999999999.1.1"}) {
    EXPECT_EQ(ParsePageToken(text), std::nullopt) << text;
  }
}

TEST(PageSize, HasBounds) {
  EXPECT_EQ(PageSize(0), 100u);
  EXPECT_EQ(PageSize(7), 7u);
  EXPECT_EQ(PageSize(5000), 1000u);
}

TEST(PageBytes, APageHasAnElementOfAnySize) {
  PageBytes bytes;
  EXPECT_TRUE(bytes.Add(2 * kMaxPageBytes));
  EXPECT_FALSE(bytes.Add(1));
  PageBytes small;
  EXPECT_TRUE(small.Add(1));
  EXPECT_TRUE(small.Add(kMaxPageBytes - 1));
  EXPECT_FALSE(small.Add(1));
}

TEST(CheckTime, RefusesNanosecondsOutsideOfASecond) {
  google::protobuf::Timestamp time;
  time.set_seconds(1'700'000'000);
  EXPECT_TRUE(CheckTime("start_time", time));
  for (const int32_t nanos : {-1, 1'000'000'000}) {
    time.set_nanos(nanos);
    EXPECT_FALSE(CheckTime("start_time", time)) << nanos;
  }
}

}  // namespace
}  // namespace rocescope
