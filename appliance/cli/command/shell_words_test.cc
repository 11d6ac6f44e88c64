// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SplitWords, DividesAtBlanks) {
  EXPECT_THAT(*SplitWords("  --no-huge -l\t0\n-m 512 "),
              ElementsAre("--no-huge", "-l", "0", "-m", "512"));
}

TEST(SplitWords, FindsNoneInNothing) { EXPECT_THAT(*SplitWords(" \t"), IsEmpty()); }

TEST(SplitWords, KeepsWhatIsQuoted) {
  EXPECT_THAT(*SplitWords(R"(--vdev='net_pcap0,rx_pcap=my file.pcap' "a \"b\" \c" '' d\ e)"),
              ElementsAre("--vdev=net_pcap0,rx_pcap=my file.pcap", "a \"b\" \\c", "", "d e"));
}

TEST(SplitWords, NamesTheUnterminatedQuote) {
  EXPECT_THAT(SplitWords("-l '0").error().message, HasSubstr("quote ' at character 4"));
  EXPECT_THAT(SplitWords("-l \"0\\\"").error().message, HasSubstr("quote \" at character 4"));
}

TEST(SplitWords, TakesALastBackslashAsItself) {
  EXPECT_THAT(*SplitWords("a\\"), ElementsAre("a\\"));
}

}  // namespace
}  // namespace rocescope
