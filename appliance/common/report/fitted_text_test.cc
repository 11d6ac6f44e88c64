// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/fitted_text.h"

#include <gtest/gtest.h>

#include <string>

#include "appliance/common/report/table.h"

namespace rocescope {
namespace {

TEST(FitText, KeepsLinesThatFit) {
  EXPECT_EQ(FitText("FAULTS: 1 found\n\n  none\n", 15), "FAULTS: 1 found\n\n  none\n");
  EXPECT_EQ(FitText("no line feed", 40), "no line feed");
  EXPECT_EQ(FitText("", 40), "");
}

TEST(FitText, ContinuesALineFurtherRight) {
  EXPECT_EQ(FitText("one two three four five six seven eight\n", 30),
            "one two three four five six\n  seven eight\n");
  EXPECT_EQ(FitText("  one two three four five six seven eight\n", 30),
            "  one two three four five six\n    seven eight\n");
}

TEST(FitText, ContinuesBehindANumberOrALabel) {
  EXPECT_EQ(FitText("  1. one two three four five six seven eight\n", 30),
            "  1. one two three four five\n     six seven eight\n");
  EXPECT_EQ(FitText("     evidence     one two three four five six\n", 40),
            "     evidence     one two three four\n                  five six\n");
  EXPECT_EQ(FitText("       1,234  packets missing (lost or not captured)\n", 40),
            "       1,234  packets missing (lost or\n              not captured)\n");
}

TEST(FitText, NeverDividesAWord) {
  const std::string word(50, 'x');
  EXPECT_EQ(FitText(word + "\n", 30), word + "\n");
  EXPECT_EQ(FitText("a " + word + " b\n", 30), "a\n  " + word + "\n  b\n");
}

TEST(FitText, CountsCharactersAndNotBytes) {
  EXPECT_EQ(FitText("\u00fc\u00fc\u00fc\u00fc\u00fc \u00fc\u00fc\u00fc\u00fc\u00fc "
                    "\u00fc\u00fc\u00fc\u00fc\u00fc \u00fc\n",
                    19),
            "\u00fc\u00fc\u00fc\u00fc\u00fc \u00fc\u00fc\u00fc\u00fc\u00fc "
            "\u00fc\u00fc\u00fc\u00fc\u00fc \u00fc\n");
}

TEST(FitText, LaysOutTables) {
  TextTable table({{"HOST"}, {"BYTES", Align::kRight}, {"NIC"}});
  table.Add({"node0", "7", "mlx5_0"});
  table.Add({"n1", "1,234,567"});
  EXPECT_EQ(FitText("HOSTS\n" + table.Deferred(2) + "end\n", kNoWidth),
            "HOSTS\n" + table.Render(2) + "end\n");
}

// Text from an input file that a section did not escape.
TEST(FitText, SurvivesItsControlCharacters) {
  for (const char* text : {"\x01", "\x01\n\x02", "\x01x\x1f\n\x02\x1f\x1f\n", "\x02 y\n",
                           "\x01"
                           "9\x1fLL\n\x02z"}) {
    FitText(text, 30);
  }
}

}  // namespace
}  // namespace rocescope
