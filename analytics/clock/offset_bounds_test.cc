// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/clock/offset_bounds.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

// A packet takes 300 there and 500 back, by clocks of which the second is 1000 ahead.
TEST(BoundOffsets, OfTwoClocksIsHalfTheRoundTripWide) {
  const std::vector<DelayBound> bounds = {{.from = 0, .to = 1, .ns = 300 + 1000},
                                          {.from = 1, .to = 0, .ns = 500 - 1000}};
  const auto offsets = BoundOffsets(bounds, 2, 0);
  ASSERT_TRUE(offsets && (*offsets)[1]);
  EXPECT_EQ((*offsets)[1]->least, 500);
  EXPECT_EQ((*offsets)[1]->most, 1300);
}

TEST(BoundOffsets, GoOverOtherClocks) {
  const std::vector<DelayBound> bounds = {{.from = 0, .to = 1, .ns = 10},
                                          {.from = 1, .to = 2, .ns = 10},
                                          {.from = 2, .to = 0, .ns = 10}};
  const auto offsets = BoundOffsets(bounds, 3, 0);
  ASSERT_TRUE(offsets && (*offsets)[2]);
  EXPECT_EQ((*offsets)[2]->least, -10);
  EXPECT_EQ((*offsets)[2]->most, 20);
}

TEST(BoundOffsets, AreNotKnownFromOneDirection) {
  const std::vector<DelayBound> bounds = {{.from = 0, .to = 1, .ns = 10}};
  const auto offsets = BoundOffsets(bounds, 3, 0);
  ASSERT_TRUE(offsets);
  EXPECT_FALSE((*offsets)[1]);
  EXPECT_FALSE((*offsets)[2]);
}

// There and back in less than no time.
TEST(BoundOffsets, AreNoneWhereDelaysContradictThemselves) {
  const std::vector<DelayBound> bounds = {{.from = 0, .to = 1, .ns = 10},
                                          {.from = 1, .to = 0, .ns = -20}};
  EXPECT_FALSE(BoundOffsets(bounds, 2, 0));
}

}  // namespace
}  // namespace rocescope
