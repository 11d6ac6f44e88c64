// SPDX-License-Identifier: BSD-3-Clause
#include "base/qpn.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

TEST(QpnTest, DistanceToALaterPsnIsPositive) {
  EXPECT_EQ(PsnDistance(100, 103), 3);
  EXPECT_EQ(PsnDistance(100, 97), -3);
  EXPECT_EQ(PsnDistance(7, 7), 0);
}

TEST(QpnTest, DistanceHandlesWrap) {
  EXPECT_EQ(PsnDistance(0xffffff, 0), 1);
  EXPECT_EQ(PsnDistance(0, 0xffffff), -1);
  EXPECT_EQ(PsnDistance(0xfffffe, 5), 7);
}

// IBTA vol. 1, 9.7.2: half of the range is ahead, the other half behind.
TEST(QpnTest, HalfTheRangeIsNegative) {
  EXPECT_EQ(PsnDistance(0, 0x7fffff), 0x7fffff);
  EXPECT_EQ(PsnDistance(0, 0x800000), -0x800000);
  EXPECT_EQ(PsnDistance(0x800000, 0), -0x800000);
}

TEST(QpnTest, IgnoresBitsAbove24) { EXPECT_EQ(PsnDistance(0x01000005, 0xff000006), 1); }

}  // namespace
}  // namespace rocescope
