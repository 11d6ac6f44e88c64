// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/iterations.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocescope {
namespace {

constexpr size_t kLength = 1000;

void SetFrom(size_t begin, size_t count, Bits& bits) {
  for (size_t i = begin; i < begin + count; ++i) bits.Set(i);
}

TEST(FindIterations, StartAfterTheLongestQuietTime) {
  Bits bits;
  for (size_t begin = 40; begin < 900; begin += 100) {
    SetFrom(begin, 10, bits);
    SetFrom(begin + 30, 20, bits);  // a second step, after a shorter quiet time
  }
  const Iterations found = FindIterations(bits, kLength, 99);
  ASSERT_EQ(found.count(), 8u);
  for (size_t k = 0; k <= 8; ++k) EXPECT_EQ(found.begins[k], 40.0 + 100.0 * static_cast<double>(k));
  EXPECT_EQ(found.period, 100);
}

TEST(FindIterations, CountAStalledIterationOnce) {
  Bits bits;
  for (const size_t begin : {50u, 150u, 250u, 350u, 620u, 720u, 820u}) SetFrom(begin, 30, bits);
  const Iterations found = FindIterations(bits, kLength, 100);
  EXPECT_EQ(found.count(), 6u);
  EXPECT_EQ(found.begins.back(), 820);
}

TEST(FindIterations, ContinueAfterAHiddenStart) {
  Bits bits;
  for (size_t begin = 50; begin < 950; begin += 100) SetFrom(begin, 30, bits);
  SetFrom(280, 100, bits);  // no quiet time before 350
  const Iterations found = FindIterations(bits, kLength, 100);
  EXPECT_EQ(found.count(), 8u);
  EXPECT_EQ(found.begins[3], 350);
  EXPECT_EQ(found.seen, 8u);
}

TEST(FindIterations, AreEmptyWithoutQuietTime) {
  Bits bits;
  SetFrom(0, kLength, bits);
  EXPECT_TRUE(FindIterations(bits, kLength, 100).empty());
  EXPECT_TRUE(FindIterations(Bits(), kLength, 100).empty());
}

}  // namespace
}  // namespace rocescope
