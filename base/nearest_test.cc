// SPDX-License-Identifier: BSD-3-Clause
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace rocescope {
namespace {

constexpr std::array<std::string_view, 5> kKeys = {"ends", "speed", "delay", "switches", "links"};

TEST(NearestNameTest, AcceptsOneWrongLetter) {
  EXPECT_EQ(NearestName("sped", kKeys), "speed");
  EXPECT_EQ(NearestName("spee", kKeys), "speed");
  EXPECT_EQ(NearestName("speedd", kKeys), "speed");
  EXPECT_EQ(NearestName("link", kKeys), "links");
}

TEST(NearestNameTest, CountsSwappedLettersAsOneEdit) {
  EXPECT_EQ(NearestName("ensd", kKeys), "ends");
  EXPECT_EQ(NearestName("dealy", kKeys), "delay");
}

TEST(NearestNameTest, AllowsMoreEditsInLongerWords) {
  EXPECT_EQ(NearestName("swtchs", kKeys), "switches");
  EXPECT_EQ(NearestName("dly", kKeys), "");
}

TEST(NearestNameTest, CompletesTheBeginningOfASingleName) {
  constexpr std::string_view kNames[] = {"snmp-30s", "gnmi-1s", "gnmi-10s"};
  EXPECT_EQ(NearestName("snmp", kNames), "snmp-30s");
  EXPECT_EQ(NearestName("gnmi", kNames), "");
  EXPECT_EQ(NearestName("sn", kNames), "");
}

TEST(NearestNameTest, SuggestsNothingForDistantWords) {
  EXPECT_EQ(NearestName("bandwidth", kKeys), "");
  EXPECT_EQ(NearestName("", kKeys), "");
  EXPECT_EQ(NearestName(std::string(1000, 's'), kKeys), "");
  EXPECT_EQ(DidYouMean("bandwidth", kKeys), "");
  EXPECT_EQ(DidYouMean("sped", kKeys), "; did you mean \"speed\"?");
}

}  // namespace
}  // namespace rocescope
