// SPDX-License-Identifier: BSD-3-Clause
// The expected expansions come from the documentation of Slurm (scontrol show hostnames,
// slurm.conf's NodeName) and, for steps, of ClusterShell (NodeSet).
#include "base/text/name_range.h"

#include <gtest/gtest.h>

namespace rocescope::topology {
namespace {

using Names = std::vector<std::string>;

Names Expand(std::string_view text) {
  const auto names = ExpandNames(text, 1000);
  EXPECT_TRUE(names.has_value()) << names.error().message;
  return names.value_or(Names());
}

TEST(ExpandNamesTest, PlainNameIsUnchanged) { EXPECT_EQ(Expand("tux"), Names{"tux"}); }

TEST(ExpandNamesTest, RangesAndNumbersMix) {
  EXPECT_EQ(Expand("linux[0-2,7,10-11]"),
            (Names{"linux0", "linux1", "linux2", "linux7", "linux10", "linux11"}));
}

TEST(ExpandNamesTest, LeadingZerosAreKept) {
  EXPECT_EQ(Expand("tux[098-101]"), (Names{"tux098", "tux099", "tux100", "tux101"}));
  EXPECT_EQ(Expand("node[1,02]"), (Names{"node1", "node02"}));
}

TEST(ExpandNamesTest, CommasSeparateNames) {
  EXPECT_EQ(Expand("lx[15,18],login, tux3"), (Names{"lx15", "lx18", "login", "tux3"}));
}

TEST(ExpandNamesTest, LastBracketCountsFastest) {
  EXPECT_EQ(Expand("rack[0-1]node[0-1]-ib"),
            (Names{"rack0node0-ib", "rack0node1-ib", "rack1node0-ib", "rack1node1-ib"}));
}

TEST(ExpandNamesTest, RangeMayHaveSteps) {
  EXPECT_EQ(Expand("Ethernet[0-12/4]"),
            (Names{"Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"}));
  EXPECT_EQ(Expand("Ethernet[0-13/4]").back(), "Ethernet12");
}

TEST(ExpandNamesTest, ExpandsAddresses) {
  EXPECT_EQ(Expand("10.0.[0-1].[254-255]"),
            (Names{"10.0.0.254", "10.0.0.255", "10.0.1.254", "10.0.1.255"}));
  EXPECT_EQ(Expand("[7-8]"), (Names{"7", "8"}));
}

class BadRange : public testing::TestWithParam<const char*> {};

TEST_P(BadRange, IsRefused) { EXPECT_FALSE(ExpandNames(GetParam(), 1000).has_value()); }

INSTANTIATE_TEST_SUITE_P(Texts, BadRange,
                         testing::Values("", ",", "a,", "a[", "a[]", "a[1", "a]", "a[1]]", "a[[1]]",
                                         "a[2-1]", "a[1-]", "a[-1]", "a[x]", "a[1-2-3]", "a[1-5/0]",
                                         "a[1-5/]", "a[1/2]", "a[1,]", "a[1 2]",
                                         "a[0-9999999999999999999]"));

TEST(ExpandNamesTest, TooManyNamesAreRejectedBeforeExpansion) {
  EXPECT_EQ(Expand("n[1-1000]").size(), 1000u);
  for (const char* text : {"n[0-1000]", "n[1-40]x[1-40]", "n[1-999],a,b", "n[0-999999999999999999]",
                           "[1-999][1-999][1-999][1-999][1-999][1-999][1-999][1-999][1-999]"}) {
    const auto names = ExpandNames(text, 1000);
    ASSERT_FALSE(names.has_value()) << text;
    EXPECT_EQ(names.error().code, ErrorCode::kResourceExhausted);
  }
}

TEST(ExpandNamesTest, LongNamesAreRejectedBeforeExpansion) {
  const std::string text = "n[1,100]" + std::string(251, 'x');
  EXPECT_EQ(Expand(text).size(), 2u);
  const auto names = ExpandNames(text + "x", 1000);
  ASSERT_FALSE(names.has_value());
  EXPECT_NE(names.error().message.find("is longer than 255 characters"), std::string::npos);
}

TEST(CompressNamesTest, CombinesConsecutiveNames) {
  EXPECT_EQ(CompressNames(Names{"host0", "host1", "host2"}), "host[0-2]");
  EXPECT_EQ(CompressNames(Names{"node098", "node099", "node100"}), "node[098-100]");
  EXPECT_EQ(CompressNames(Names{"Ethernet0", "Ethernet4", "Ethernet8"}), "Ethernet[0-8/4]");
  EXPECT_EQ(CompressNames(Names{"a1:swp1", "a1:swp2", "a2:swp1"}), "a1:swp[1-2],a2:swp1");
  EXPECT_EQ(CompressNames(Names{"a1", "a7", "b"}), "a1,a7,b");
}

// ExpandNames accepts numbers of up to 18 digits.
TEST(CompressNamesTest, RangesEndBeforeNumbersOf19Digits) {
  const Names names = {"999999999999999998", "999999999999999999", "1000000000000000000"};
  EXPECT_EQ(CompressNames(names), "[999999999999999998-999999999999999999],1000000000000000000");
  EXPECT_EQ(Expand(CompressNames(names)), names);
}

TEST(CompressNamesTest, ExpandsToTheOriginal) {
  const std::vector<Names> cases = {
      {"x"},
      {"x", "x"},
      {"9", "10", "11"},
      {"09", "10", "011"},
      {"a9", "a010"},
      {"a2", "a1", "a0"},
      {"10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"},
      {"r1n1", "r2n2", "r3n3"},
      {"a", "a1", "a12", "1a", "2a"},
      {"999999999999999999", "1000000000000000000"},
      {"n99999999999999999999", "n99999999999999999998"},
  };
  for (const Names& names : cases) {
    const std::string text = CompressNames(names);
    EXPECT_EQ(Expand(text), names) << text;
  }
}

}  // namespace
}  // namespace rocescope::topology
