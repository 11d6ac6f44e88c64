// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/sequence_follower.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace rocescope {
namespace {

constexpr uint32_t k22Bits = 0x3fffff;

uint64_t LostOf(std::initializer_list<uint32_t> sequence, uint32_t mask = k22Bits) {
  SequenceFollower follower;
  for (const uint32_t number : sequence) follower.Count(number, mask);
  return follower.lost();
}

TEST(SequenceFollower, CountsGaps) {
  EXPECT_EQ(LostOf({7, 8, 9}), 0u);
  EXPECT_EQ(LostOf({7, 10, 11, 13}), 3u);
}

TEST(SequenceFollower, HandlesWrap) {
  EXPECT_EQ(LostOf({k22Bits - 1, k22Bits, 0, 1}), 0u);
  EXPECT_EQ(LostOf({k22Bits, 2}), 2u);
  EXPECT_EQ(LostOf({UINT32_MAX, 1}, UINT32_MAX), 1u);
}

TEST(SequenceFollower, CorrectsForLateDatagrams) { EXPECT_EQ(LostOf({1, 2, 5, 3, 4, 6}), 0u); }

TEST(SequenceFollower, TreatsLargeJumpsAsRestart) {
  EXPECT_EQ(LostOf({1'000'000, 0, 1, 2}), 0u);
  EXPECT_EQ(LostOf({1, 2, 1'000'000, 1'000'001}), 0u);
  EXPECT_EQ(LostOf({5000, 1, 2, 4}), 1u);
}

TEST(SequenceFollower, HandlesSendersWithoutNumbers) { EXPECT_EQ(LostOf({0, 0, 0, 0}), 0u); }

}  // namespace
}  // namespace rocescope
