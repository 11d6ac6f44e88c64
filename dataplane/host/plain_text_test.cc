// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/plain_text.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

using namespace std::string_view_literals;

TEST(PlainText, HasNoColours) {
  EXPECT_EQ(PlainText("\x1b[1;31mred\x1b[0m and \x1b[38;5;12mblue\x1b[m"), "red and blue");
  EXPECT_EQ(PlainText("\x1b]0;title\anode0 \x1b]8;;x\x1b\\link"), "node0 link");
  EXPECT_EQ(PlainText("\x1b(Bplain\x1b"), "plain");
}

TEST(PlainText, HasNoNul) { EXPECT_EQ(PlainText("line\0\0\n"sv), "line\n"); }

TEST(PlainText, KeepsEveryLineEnd) {
  EXPECT_EQ(PlainText("a\x1b\nb\x1b[\nc\x1b[3\nd\x1b]x\ne"), "a\nb\nc\nd\ne");
}

TEST(PlainText, IsNeededOnlyWithControlSequences) {
  EXPECT_FALSE(HasControlSequences("node0:1:2 [0] NCCL INFO\r\n"));
  EXPECT_TRUE(HasControlSequences("\x1b[0m"));
  EXPECT_TRUE(HasControlSequences("a\0"sv));
}

}  // namespace
}  // namespace rocescope
