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

}  // namespace
}  // namespace rocescope
