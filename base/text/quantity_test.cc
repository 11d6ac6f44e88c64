// SPDX-License-Identifier: BSD-3-Clause
#include "base/text/quantity.h"

#include <gtest/gtest.h>

namespace rocescope::topology {
namespace {

TEST(SpeedTest, ParsesWithAndWithoutUnit) {
  EXPECT_EQ(ParseSpeed("400G"), 400'000'000'000u);
  EXPECT_EQ(ParseSpeed("1.6T"), 1'600'000'000'000u);
  EXPECT_EQ(ParseSpeed("2.5G"), 2'500'000'000u);
  EXPECT_EQ(ParseSpeed("64K"), 64'000u);
  EXPECT_EQ(ParseSpeed("100000000000"), 100'000'000'000u);
  EXPECT_EQ(ParseSpeed("100T"), 100'000'000'000'000u);
}

TEST(SpeedTest, FormatsInTheLargestWholeUnit) {
  EXPECT_EQ(FormatSpeed(400'000'000'000), "400G");
  EXPECT_EQ(FormatSpeed(1'600'000'000'000), "1600G");
  EXPECT_EQ(FormatSpeed(1'000'000'000'001), "1000000000001");
}

TEST(SpeedTest, RejectsInvalidText) {
  for (const char* text : {"", "0", "G", "-1G", "400g", "400 G", "400Gb", "1..5G", ".5G", "1.G",
                           "1.5", "101T", "99999999999999999999", "0.0000000001G", "1e9"}) {
    EXPECT_FALSE(ParseSpeed(text).has_value()) << text;
  }
}

TEST(DelayTest, ParsesToWholeNanoseconds) {
  EXPECT_EQ(ParseDelay("500ns"), Duration(500));
  EXPECT_EQ(ParseDelay("1.5us"), Duration(1500));
  EXPECT_EQ(ParseDelay("2ms"), Duration(2'000'000));
  EXPECT_EQ(ParseDelay("1s"), Duration(1'000'000'000));
  EXPECT_EQ(ParseDelay("0"), Duration(0));
  EXPECT_EQ(ParseDelay("0.001us"), Duration(1));
}

TEST(DelayTest, RejectsInvalidText) {
  for (const char* text :
       {"", "5", "ns", "-1ns", "1.5ns", "1.05ns", "1.0001us", "2s", "1m", "1 us"}) {
    EXPECT_FALSE(ParseDelay(text).has_value()) << text;
  }
}

TEST(DelayTest, WhatIsWrittenIsReadAgain) {
  for (const int64_t ns : {0, 1, 500, 1000, 1500, 2'000'000, 999'999'999, 1'000'000'000}) {
    EXPECT_EQ(ParseDelay(FormatDelay(Duration(ns))), Duration(ns)) << FormatDelay(Duration(ns));
  }
}

TEST(PciAddressTest, IsNormalised) {
  EXPECT_EQ(ParsePciAddress("0000:17:00.0"), "0000:17:00.0");
  EXPECT_EQ(ParsePciAddress("17:00.1"), "0000:17:00.1");
  EXPECT_EQ(ParsePciAddress("00000000:9A:1F.7"), "0000:9a:1f.7");  // as nvidia-smi prints it
  EXPECT_EQ(ParsePciAddress("10002:01:00.0"), "10002:01:00.0");    // with Intel's VMD
}

TEST(PciAddressTest, RejectsInvalidText) {
  for (const char* text : {"", "17", "17:00", "17.00.0", "0000:17:00:0", "17:00.8", "17:20.0",
                           "117:00.0", "x7:00.0", ":17:00.0", "000000001:17:00.0", "17:00.00"}) {
    EXPECT_FALSE(ParsePciAddress(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace rocescope::topology
