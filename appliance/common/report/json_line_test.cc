// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/json_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace rocescope {
namespace {

std::string Quoted(std::string_view text) {
  fmt::memory_buffer out;
  AppendJsonString(out, text);
  return fmt::to_string(out);
}

TEST(JsonLine, KeepsPlainText) { EXPECT_EQ(Quoted("tap 1/é/漢/🙂"), "\"tap 1/é/漢/🙂\""); }

TEST(JsonLine, EscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(Quoted("a\"b\\c\n\x01\x7f"), R"("a\"b\\c\u000a\u0001\u007f")");
  EXPECT_EQ(Quoted("\xc2\x9b"), R"("\u009b")") << "CSI of 8-bit terminals";
}

// Overlong slash, lone continuation, surrogate, beyond U+10FFFF, cut sequence.
TEST(JsonLine, ReplacesInvalidUtf8) {
  for (const std::string_view text :
       {"\xc0\xaf", "\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe6\xbc"}) {
    const std::string quoted = Quoted(text);
    EXPECT_TRUE(nlohmann::json::accept(quoted)) << quoted;
    EXPECT_EQ(quoted.find("\"\\ufffd"), 0u) << quoted;
  }
}

TEST(JsonLine, SeparatesMembersAtEveryDepth) {
  fmt::memory_buffer out;
  JsonLine json(out);
  json.BeginArray("empty");
  json.EndArray();
  json.BeginObject("inner");
  json.Number("a", 1u);
  json.Bool("b", true);
  json.EndObject();
  json.Text64("c", int64_t{-5});
  json.Finish();
  EXPECT_EQ(fmt::to_string(out), "{\"empty\":[],\"inner\":{\"a\":1,\"b\":true},\"c\":\"-5\"}\n");
}

}  // namespace
}  // namespace rocescope
