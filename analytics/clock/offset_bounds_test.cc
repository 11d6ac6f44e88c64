// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/clock/offset_bounds.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

// A packet takes 300 in one direction and 500 in the other; the second clock is 1000 ahead.
TEST(BoundOffsets, UncertaintyIsHalfTheRoundTrip) {
  const std::vector<DelayBound> bounds = {{.from = 0, .to = 1, .ns = 300 + 1000},
                                          {.from = 1, .to = 0, .ns = 500 - 1000}};
  const auto offsets = BoundOffsets(bounds, 2, 0);
  ASSERT_TRUE(offsets && (*offsets)[1]);
  EXPECT_EQ((*offsets)[1]->least, 500);
  EXPECT_EQ((*offsets)[1]->most, 1300);
}

TEST(BoundOffsets, CombineSeveralClocks) {
  const std::vector<DelayBound> bounds = {{.from = 0, .to = 1, .ns = 10},
                                          {.from = 1, .to = 2, .ns = 10},
                                          {.from = 2, .to = 0, .ns = 10}};
  const auto offsets = BoundOffsets(bounds, 3, 0);
  ASSERT_TRUE(offsets && (*offsets)[2]);
  EXPECT_EQ((*offsets)[2]->least, -10);
  EXPECT_EQ((*offsets)[2]->most, 20);
}

TEST(BoundOffsets, AreUnsetWithOneDirection) {
  const std::vector<DelayBound> bounds = {{.from = 0, .to = 1, .ns = 10}};
  const auto offsets = BoundOffsets(bounds, 3, 0);
  ASSERT_TRUE(offsets);
  EXPECT_FALSE((*offsets)[1]);
  EXPECT_FALSE((*offsets)[2]);
}

// Negative delays in both directions.
TEST(BoundOffsets, AreUnsetForContradictingDelays) {
  const std::vector<DelayBound> bounds = {{.from = 0, .to = 1, .ns = 10},
                                          {.from = 1, .to = 0, .ns = -20}};
  EXPECT_FALSE(BoundOffsets(bounds, 2, 0));
}

// Four clocks, each ahead of the previous one by nearly the maximum of 64 bits.
TEST(BoundOffsets, AreUnsetOnOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  std::vector<DelayBound> bounds;
  for (uint32_t i = 0; i < 3; ++i) {
    bounds.push_back({.from = i, .to = i + 1, .ns = kHuge});
    bounds.push_back({.from = i + 1, .to = i, .ns = -kHuge});
  }
  EXPECT_FALSE(BoundOffsets(bounds, 4, 0));
}

TEST(GroupsOf, AreStronglyConnectedComponents) {
  // A ring of three clocks, which leads to a pair, which leads to a single one.
  const std::vector<DelayBound> bounds = {
      {.from = 0, .to = 2}, {.from = 2, .to = 4}, {.from = 4, .to = 0}, {.from = 4, .to = 1},
      {.from = 1, .to = 3}, {.from = 3, .to = 1}, {.from = 3, .to = 5}};
  const std::vector<uint32_t> groups = GroupsOf(bounds, 6);
  EXPECT_EQ(groups[0], groups[2]);
  EXPECT_EQ(groups[0], groups[4]);
  EXPECT_EQ(groups[1], groups[3]);
  EXPECT_NE(groups[0], groups[1]);
  EXPECT_NE(groups[5], groups[1]);
  EXPECT_NE(groups[5], groups[0]);
}

// More clocks than a recursion could handle.
TEST(GroupsOf, HandleALongChain) {
  constexpr uint32_t kClocks = 200'000;
  std::vector<DelayBound> row;
  for (uint32_t i = 0; i + 1 < kClocks; ++i) row.push_back({.from = i, .to = i + 1});
  std::vector<uint32_t> groups = GroupsOf(row, kClocks);
  EXPECT_NE(groups.front(), groups.back());
  row.push_back({.from = kClocks - 1, .to = 0});
  groups = GroupsOf(row, kClocks);
  EXPECT_EQ(groups.front(), groups.back());
}

}  // namespace
}  // namespace rocescope
