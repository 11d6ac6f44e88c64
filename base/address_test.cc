// SPDX-License-Identifier: BSD-3-Clause
#include "base/address.h"

#include <gtest/gtest.h>

#include <string>

namespace rocescope {
namespace {

TEST(AddressTest, StoresIpv4AsMappedAddress) {
  const IpAddress address = IpAddress::FromV4(0xac1e000c);

  EXPECT_TRUE(address.IsV4());
  EXPECT_EQ(address.V4(), 0xac1e000cu);
  EXPECT_EQ(address.high, 0u);
  EXPECT_EQ(address.low, 0x0000ffffac1e000cu);
  EXPECT_EQ(ToString(address), "172.30.0.12");
}

TEST(AddressTest, ReadsIpv4) {
  const auto address = ParseIpAddress("172.30.0.12");

  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(*address, IpAddress::FromV4(0xac1e000c));
}

TEST(AddressTest, MappedFormEqualsIpv4Form) {
  const auto address = ParseIpAddress("::ffff:10.232.212.185");

  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(*address, IpAddress::FromV4(0x0ae8d4b9));
}

// RFC 5952, section 4: lower case, no leading zeros, the first longest run of zeros shortened.
TEST(AddressTest, PrintsIpv6InCanonicalForm) {
  const auto address = ParseIpAddress("2001:0DB8:0:0:1:0:0:1");

  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->high, 0x20010db800000000u);
  EXPECT_EQ(address->low, 0x0001000000000001u);
  EXPECT_FALSE(address->IsV4());
  EXPECT_EQ(ToString(*address), "2001:db8::1:0:0:1");
}

TEST(AddressTest, RecognisesBothUnspecifiedAddresses) {
  EXPECT_TRUE(IpAddress{}.IsUnspecified());
  EXPECT_TRUE(IpAddress::FromV4(0).IsUnspecified());
  EXPECT_FALSE(IpAddress::FromV4(1).IsUnspecified());
  EXPECT_FALSE((IpAddress{.high = 1, .low = 0}).IsUnspecified());
}

TEST(AddressTest, SortsIpv4Numerically) {
  EXPECT_LT(IpAddress::FromV4(0x0a000002), IpAddress::FromV4(0x0a00000a));
}

class BadAddress : public testing::TestWithParam<const char*> {};

TEST_P(BadAddress, IsRejected) {
  const auto address = ParseIpAddress(GetParam());

  ASSERT_FALSE(address.has_value());
  EXPECT_EQ(address.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(address.error().message.find(std::string("\"") + GetParam() + "\""), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Texts, BadAddress,
                         testing::Values("", "10.0.0", "10.0.0.256", "10.0.0.1 ", " 10.0.0.1",
                                         "10.0.0.1/24", "1:2:3:4:5:6:7", "fe80::1%eth0", "host"));

TEST(AddressTest, RejectsEmbeddedNul) {
  using std::string_view_literals::operator""sv;

  EXPECT_FALSE(ParseIpAddress("10.0.0.1\0junk"sv).has_value());
}

}  // namespace
}  // namespace rocescope
