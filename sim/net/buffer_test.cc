// SPDX-License-Identifier: BSD-3-Clause
#include "sim/net/buffer.h"

#include <gtest/gtest.h>

namespace rocescope::sim {
namespace {

constexpr uint32_t kLossless = 3;
constexpr uint32_t kLossy = 0;

SharedBuffer Buffer(uint64_t bytes, double alpha, uint64_t headroom) {
  SharedBuffer buffer({.bytes = bytes,
                       .alpha = alpha,
                       .egress_alpha = 1,
                       .reserve = 0,
                       .resume_offset = 1000,
                       .headroom = headroom},
                      2);
  buffer.Seal();
  return buffer;
}

// With x held, the threshold is alpha (B - x): they meet at x = alpha B / (1 + alpha).
TEST(SharedBufferTest, OneQueuePausesAtItsDynamicThreshold) {
  SharedBuffer buffer = Buffer(100'000 + 2 * 20'000, 1.0 / 4, 20'000);
  uint64_t held = 0;
  while (!buffer.ShouldPause(0, kLossless)) {
    ASSERT_TRUE(buffer.Admit(0, kLossless, 100, 0));
    held += 100;
  }
  EXPECT_EQ(held, 20'000u);  // 0.25 * 100,000 / 1.25
}

TEST(SharedBufferTest, HeadroomTakesWhatStillComesAndNoMore) {
  SharedBuffer buffer = Buffer(100'000 + 2 * 5'000, 1.0 / 4, 5'000);
  while (!buffer.ShouldPause(0, kLossless)) ASSERT_TRUE(buffer.Admit(0, kLossless, 1000, 0));
  int more = 0;
  while (buffer.Admit(0, kLossless, 1000, 0)) ++more;
  EXPECT_EQ(more, 5);
}

TEST(SharedBufferTest, ResumesBelowTheThresholdByTheOffset) {
  SharedBuffer buffer = Buffer(100'000 + 2 * 5'000, 1.0 / 4, 5'000);
  while (!buffer.ShouldPause(0, kLossless)) ASSERT_TRUE(buffer.Admit(0, kLossless, 100, 0));
  EXPECT_FALSE(buffer.ShouldResume(0, kLossless));
  int released = 0;
  while (!buffer.ShouldResume(0, kLossless)) {
    buffer.Release(0, kLossless, 100);
    ++released;
  }
  // Each 100 octets released bring them 125 nearer: 8 times is 1000.
  EXPECT_EQ(released, 8);
}

TEST(SharedBufferTest, ASecondQueueLowersTheThresholdOfBoth) {
  SharedBuffer buffer = Buffer(100'000 + 2 * 5'000, 1, 5'000);
  for (int i = 0; i < 33; ++i) {
    ASSERT_TRUE(buffer.Admit(0, kLossless, 1000, 0));
    ASSERT_TRUE(buffer.Admit(1, kLossless, 1000, 0));
  }
  EXPECT_FALSE(buffer.ShouldPause(0, kLossless));  // 33 of 34 that are free
  ASSERT_TRUE(buffer.Admit(0, kLossless, 1000, 0));
  EXPECT_TRUE(buffer.ShouldPause(0, kLossless));
}

TEST(SharedBufferTest, ALossyQueueDropsAtItsEgressThreshold) {
  SharedBuffer buffer = Buffer(100'000, 1, 0);
  uint64_t queued = 0;
  while (buffer.Admit(0, kLossy, 1000, queued)) queued += 1000;
  EXPECT_EQ(queued, 50'000u);
  EXPECT_FALSE(buffer.ShouldPause(0, kLossy));
}

TEST(SharedBufferTest, WhatWasAdmittedCanBeReleasedToNothing) {
  SharedBuffer buffer = Buffer(100'000, 1.0 / 8, 5'000);
  int frames = 0;
  while (buffer.Admit(0, kLossless, 700, 0)) ++frames;
  for (int i = 0; i < frames; ++i) buffer.Release(0, kLossless, 700);
  EXPECT_EQ(buffer.used(), 0u);
  EXPECT_EQ(buffer.Held(0, kLossless), 0u);
  EXPECT_TRUE(buffer.ShouldResume(0, kLossless));
}

}  // namespace
}  // namespace rocescope::sim
