// SPDX-License-Identifier: BSD-3-Clause
#include "base/count_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace rocescope {
namespace {

TEST(CountText, SeparatesThousandsByCommas) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(1'000), "1,000");
  EXPECT_EQ(WithThousands(98'308), "98,308");
  EXPECT_EQ(WithThousands(std::numeric_limits<uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(CountText, UsesSingularForOne) {
  EXPECT_EQ(Counted(1, "edge"), "1 edge");
  EXPECT_EQ(Counted(0, "edge"), "0 edges");
  EXPECT_EQ(Counted(2345, "edge"), "2,345 edges");
  EXPECT_EQ(Counted(2, "PAUSE or PFC frame"), "2 PAUSE or PFC frames");
}

TEST(CountText, FormsPlurals) {
  EXPECT_EQ(Counted(2, "switch"), "2 switches");
  EXPECT_EQ(Counted(2, "bus"), "2 buses");
  EXPECT_EQ(Counted(2, "query"), "2 queries");
  EXPECT_EQ(Counted(2, "way"), "2 ways");
  EXPECT_EQ(Counted(2, "GPU"), "2 GPUs");
}

TEST(CountText, LargeNumbersAreRounded) {
  EXPECT_EQ(Rounded(8743, 3), "8,740");
  EXPECT_EQ(Rounded(1e8, 2), "100,000,000");
  EXPECT_EQ(Rounded(101.6, 2), "100");
  EXPECT_EQ(Rounded(6.94, 2), "6.9");
  EXPECT_EQ(Rounded(999.6, 3), "1,000");
  EXPECT_EQ(Rounded(0.25, 2), "0.25");
  EXPECT_EQ(Rounded(0, 2), "0");
  EXPECT_EQ(Rounded(1e300, 2), "1e+300");
}

}  // namespace
}  // namespace rocescope
