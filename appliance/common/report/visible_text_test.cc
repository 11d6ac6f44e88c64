// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/visible_text.h"

#include <gtest/gtest.h>

#include <string>

namespace rocescope {
namespace {

using namespace std::string_view_literals;

TEST(VisibleText, KeepsPlainText) {
  for (const std::string_view text :
       {"node0 \"leaf\\1\" ~"sv, "gr\xc3\xbc\xc3\x9f"sv, "\xe2\x82\xac \xf0\x9f\x90\xa2"sv, ""sv}) {
    EXPECT_EQ(Visible(text), text);
  }
}

TEST(VisibleText, EscapesControls) {
  EXPECT_EQ(Visible("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Visible("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(Visible("\0\a\x7f"sv), "\\x00\\x07\\x7f");
}

// U+009B is CSI: the two bytes of ESC [ in one character (ECMA-48, 8.3.16).
TEST(VisibleText, EscapesC1Controls) {
  EXPECT_EQ(Visible("\xc2\x80\xc2\x9b\xc2\x9f"), "\\x80\\x9b\\x9f");
  EXPECT_EQ(Visible("\xc2\xa0"), "\xc2\xa0") << "U+00A0 is a space";
}

// U+202E makes a terminal show the following text from right to left.
TEST(VisibleText, EscapesBidirectionalControls) {
  EXPECT_EQ(Visible("leaf0\xe2\x80\xae"
                    "1"),
            "leaf0\\u202e1");
  EXPECT_EQ(Visible("\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa"), "\\u200e\\u200f\\u202a");
  EXPECT_EQ(Visible("\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c"), "\\u2066\\u2069\\u061c");
  for (const std::string_view beside : {"\xe2\x80\x8d"sv, "\xe2\x80\x90"sv, "\xe2\x80\xa9"sv,
                                        "\xe2\x80\xaf"sv, "\xe2\x81\xa5"sv, "\xe2\x81\xaa"sv}) {
    EXPECT_EQ(Visible(beside), beside);
  }
  EXPECT_EQ(VisibleLines("\xe2\x80\xae\n"), "\\u202e\n");
}

TEST(VisibleText, ReplacesInvalidUtf8) {
  const std::string mark(kReplacementCharacter);
  EXPECT_EQ(Visible("a\x9b"
                    "b"),
            "a" + mark + "b")
      << "a terminal in an 8-bit mode takes it for CSI";
  EXPECT_EQ(Visible("\xe2\x82"), mark + mark) << "cut";
  EXPECT_EQ(Visible("\xc0\xaf"), mark + mark) << "overlong";
  EXPECT_EQ(Visible("\xed\xa0\x80"), mark + mark + mark) << "a surrogate";
  EXPECT_EQ(Visible("\xf4\x90\x80\x80"), mark + mark + mark + mark) << "beyond U+10FFFF";
}

TEST(VisibleText, KeepsTheLinesOfALayoutOnly) {
  EXPECT_EQ(VisibleLines("a\nb\r\n\x1b\xff"), "a\nb\\r\n\\x1b\xef\xbf\xbd");
}

TEST(VisibleText, IsIdempotent) {
  std::string every_byte;
  for (int octet = 0; octet < 256; ++octet) every_byte += static_cast<char>(octet);
  const std::string once = Visible(every_byte);
  EXPECT_EQ(Visible(once), once);
}

TEST(WithShortQuotes, KeepsShortQuotes) {
  EXPECT_EQ(WithShortQuotes("\"a\" cannot be; \"b"), "\"a\" cannot be; \"b");
  const std::string path = "/" + std::string(500, 'p') + ": is missing";
  EXPECT_EQ(WithShortQuotes(path), path) << "nobody quotes a path";
}

TEST(WithShortQuotes, TruncatesQuotesBetweenCharacters) {
  EXPECT_EQ(WithShortQuotes("a.yaml:1: \"" + std::string(2'000'000, 'x') + "\" cannot be"),
            "a.yaml:1: \"" + std::string(80, 'x') + "...\" (2000000 bytes) cannot be");
  // U+00FC has two bytes; here, byte 80 is its first and byte 81 its second.
  std::string name = "n";
  for (int i = 0; i < 100; ++i) name += "\xc3\xbc";
  EXPECT_EQ(WithShortQuotes("\"" + name + "\""), "\"" + name.substr(0, 81) + "...\" (201 bytes)");
}

}  // namespace
}  // namespace rocescope
