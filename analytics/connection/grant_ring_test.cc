// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/grant_ring.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

Grant Of(uint32_t flow, uint32_t psn, uint32_t size, uint32_t rkey) {
  return {.flow = flow, .psn = psn, .words = {size, rkey}, .time = {}};
}

TEST(GrantRing, AnOffsetInsideTheGrantedSizeMatches) {
  GrantRing ring(8);
  ring.Insert(0x10000, Of(1, 0, 0x4000, 77));
  EXPECT_EQ(ring.Find(0x13000, 0x1000, 77).address, 0x10000u);
  EXPECT_EQ(ring.Find(0x13000, 0x1001, 77).grant, nullptr);
  EXPECT_EQ(ring.Find(0xf000, 0x1000, 77).grant, nullptr);
}

TEST(GrantRing, TheNearestGrantBelowWins) {
  GrantRing ring(8);
  ring.Insert(0x10000, Of(1, 0, 0x100000, 77));
  ring.Insert(0x20000, Of(2, 0, 0x100000, 77));
  EXPECT_EQ(ring.Find(0x21000, 16, 77).grant->flow, 2u);
}

TEST(GrantRing, TheSameBufferGrantedOnTwoFlowsIsAmbiguous) {
  GrantRing ring(8);
  ring.Insert(0x10000, Of(1, 0, 0x4000, 77));
  ring.Insert(0x10000, Of(2, 0, 0x4000, 77));
  EXPECT_TRUE(ring.Find(0x10000, 16, 77).ambiguous);
  ring.Forget(2);
  EXPECT_FALSE(ring.Find(0x10000, 16, 77).ambiguous);
}

TEST(GrantRing, OverwrittenUnusedGrantsAreCounted) {
  GrantRing ring(2);
  ring.Insert(0x1000, Of(1, 0, 16, 77));
  ring.Insert(0x2000, Of(1, 1, 16, 77));
  ring.Insert(0x3000, Of(1, 2, 16, 77));
  EXPECT_EQ(ring.dropped(), 1u);
  EXPECT_EQ(ring.Find(0x1000, 16, 77).grant, nullptr);
}

TEST(GrantRing, ZeroIsNoKey) {
  GrantRing ring(2);
  ring.Insert(0x1000, Of(1, 0, 16, 77));
  EXPECT_EQ(ring.Find(0x1000, 0, 0).grant, nullptr);
}

}  // namespace
}  // namespace rocescope
