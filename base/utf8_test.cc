// SPDX-License-Identifier: BSD-3-Clause
// Sequences from Unicode 15, tables 3-6 to 3-8.
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

TEST(Utf8, ReturnsLengthOfValidSequences) {
  EXPECT_EQ(Utf8Length("a"), 1);
  EXPECT_EQ(Utf8Length("\xd0\xb0z"), 2);
  EXPECT_EQ(Utf8Length("\xe4\xba\x8c"), 3);
  EXPECT_EQ(Utf8Length("\xf0\x90\x8c\x82"), 4);
}

TEST(Utf8, ReturnsZeroForInvalidSequences) {
  for (const char* text : {"\x80", "\xc0\xaf", "\xe0\x9f\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                           "\xf4\x90\x80\x80", "\xff", "\xe4\xba", "\xe4\xbaz"}) {
    EXPECT_EQ(Utf8Length(text), 0) << text;
  }
}

TEST(Utf8, FrontEndsBetweenCharacters) {
  const std::string_view text = "a\xc3\xa9\xe2\x82\xac";  // one, two and three bytes
  const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6};
  for (size_t most = 0; most < std::size(expected); ++most) {
    EXPECT_EQ(Utf8Front(text, most).size(), expected[most]) << most;
  }
}

TEST(Utf8, RecognisesInvalidText) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\xc3\xa9"));
  EXPECT_FALSE(IsUtf8("a\xc3"));
  EXPECT_FALSE(
      IsUtf8("tr\xff"
             "in"));
  EXPECT_TRUE(IsUtf8("eight bytes and more \xe2\x82\xac"));
  EXPECT_FALSE(IsUtf8("eight bytes and more \xe2\x82"));
}

TEST(Utf8, ReplacesInvalidBytes) {
  EXPECT_EQ(ReplaceInvalidUtf8(""), "");
  EXPECT_EQ(ReplaceInvalidUtf8("a\xc3\xa9"), "a\xc3\xa9");
  EXPECT_EQ(ReplaceInvalidUtf8("lea\xff"
                               "9\xe2\x82"),
            "lea?9??");
}

}  // namespace
}  // namespace rocescope
