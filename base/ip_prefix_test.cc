// SPDX-License-Identifier: BSD-3-Clause
#include "base/ip_prefix.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

bool Contains(std::string_view prefix, std::string_view address) {
  return ParseIpPrefix(prefix)->Contains(*ParseIpAddress(address));
}

TEST(IpPrefix, ContainsAddressesWithTheSameLeadingBits) {
  EXPECT_TRUE(Contains("10.1.0.0/16", "10.1.255.1"));
  EXPECT_FALSE(Contains("10.1.0.0/16", "10.2.0.1"));
  EXPECT_TRUE(Contains("10.1.2.3", "10.1.2.3"));
  EXPECT_FALSE(Contains("10.1.2.3", "10.1.2.4"));
  EXPECT_TRUE(Contains("0.0.0.0/0", "203.0.113.9"));
  EXPECT_FALSE(Contains("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(Contains("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(Contains("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(Contains("2001:db8:0:1::/64", "2001:db8:0:1:ffff::"));
  EXPECT_FALSE(Contains("::/0", "10.0.0.1"));
}

TEST(IpPrefix, IsWrittenAsItIsRead) {
  for (const char* text :
       {"10.1.0.0/16", "10.1.2.3", "0.0.0.0/0", "2001:db8::/33", "::/0", "::1"}) {
    EXPECT_EQ(ToString(*ParseIpPrefix(text)), text);
  }
  EXPECT_EQ(ToString(*ParseIpPrefix("10.1.2.3/16")), "10.1.0.0/16");
}

TEST(IpPrefix, RefusesInvalidText) {
  for (const char* text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1",
                           "10.0.0.0/8x", "host/8", "10.0.0.0/256"}) {
    EXPECT_FALSE(ParseIpPrefix(text)) << text;
  }
}

}  // namespace
}  // namespace rocescope
