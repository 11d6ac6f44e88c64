// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/bits.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

Bits All() {
  Bits all;
  for (size_t i = 0; i < Bits::kCount; ++i) all.Set(i);
  return all;
}

void ExpectResetClears(size_t begin, size_t end) {
  Bits bits = All();
  bits.Reset(begin, end);
  for (size_t i = 0; i < Bits::kCount; ++i) {
    ASSERT_EQ(bits.Test(i), i < begin || i >= end) << i << " of " << begin << " to " << end;
  }
}

TEST(Bits, ResetClearsARange) {
  ExpectResetClears(3, 9);
  ExpectResetClears(0, 64);
  ExpectResetClears(63, 65);
  ExpectResetClears(100, 1000);
  ExpectResetClears(Bits::kCount - 1, Bits::kCount);
  ExpectResetClears(0, Bits::kCount);
}

TEST(Bits, ResetOfNothingClearsNothing) { ExpectResetClears(64, 64); }

TEST(Bits, FindsTheLastBefore) {
  Bits bits;
  EXPECT_EQ(bits.LastBefore(Bits::kCount), Bits::kCount);
  for (const size_t i : {3u, 63u, 64u, 200u, 2047u}) bits.Set(i);
  EXPECT_EQ(bits.LastBefore(0), Bits::kCount);
  EXPECT_EQ(bits.LastBefore(3), Bits::kCount);
  EXPECT_EQ(bits.LastBefore(4), 3u);
  EXPECT_EQ(bits.LastBefore(64), 63u);
  EXPECT_EQ(bits.LastBefore(65), 64u);
  EXPECT_EQ(bits.LastBefore(200), 64u);
  EXPECT_EQ(bits.LastBefore(201), 200u);
  EXPECT_EQ(bits.LastBefore(2047), 200u);
  EXPECT_EQ(bits.LastBefore(Bits::kCount), 2047u);
  EXPECT_EQ(bits.LastBefore(9999), 2047u);
}

}  // namespace
}  // namespace rocescope
