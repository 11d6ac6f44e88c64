// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "appliance/common/config/byte_size.h"
#include "appliance/common/config/listen_address.h"

namespace rocescope {
namespace {

TEST(Bytes, ParsesSuffixes) {
  EXPECT_EQ(ParseBytes("1"), 1u);
  EXPECT_EQ(ParseBytes("3K"), 3072u);
  EXPECT_EQ(ParseBytes("64M"), 67'108'864u);
  EXPECT_EQ(ParseBytes("16777215T"), 18446742974197923840u);
}

TEST(Bytes, RejectsZeroAndOverflow) {
  for (const char* text : {"", "0", "0K", "-1", "K", "1KB", "1k", "1.5M", "16777216T", " 1"}) {
    EXPECT_FALSE(ParseBytes(text)) << text;
  }
}

TEST(Bytes, FormatsInTheLargestUnit) {
  EXPECT_EQ(FormatBytes(1023), "1023");
  EXPECT_EQ(FormatBytes(1025), "1025");
  EXPECT_EQ(FormatBytes(2048), "2K");
  EXPECT_EQ(FormatBytes(uint64_t{3} << 40), "3T");
}

TEST(ListenAddress, RoundTrips) {
  for (const char* text : {"127.0.0.1:8080", "[::1]:0", "[2001:db8::1]:65535", "0.0.0.0:1"}) {
    const Result<ListenAddress> where = ParseListenAddress(text);
    ASSERT_TRUE(where) << text;
    EXPECT_EQ(ToString(*where), text);
  }
}

TEST(ListenAddress, RequiresAddressAndPort) {
  for (const char* text : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x",
                           "::1:80", "[::1]", "[127.0.0.1]:80", "localhost:80", "[]:80"}) {
    EXPECT_FALSE(ParseListenAddress(text)) << text;
  }
}

TEST(ListenAddress, DetectsLoopback) {
  EXPECT_TRUE(ParseListenAddress("127.255.0.9:1")->IsLoopback());
  EXPECT_TRUE(ParseListenAddress("[::1]:1")->IsLoopback());
  for (const char* text : {"128.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::2]:1", "[2001:db8::1]:1"}) {
    EXPECT_FALSE(ParseListenAddress(text)->IsLoopback()) << text;
  }
}

TEST(ListenAddress, ThisHostIsLoopbackOrLocalhost) {
  for (const char* host : {"127.0.0.1", "127.9.8.7", "::1", "[::1]", "localhost"}) {
    EXPECT_TRUE(IsThisHost(host)) << host;
  }
  for (const char* host : {"", "[]", "127.", "127.evil.example", "127.0.0.1.example", "10.0.0.7",
                           "[::2]", "localhost.example"}) {
    EXPECT_FALSE(IsThisHost(host)) << host;
  }
}

}  // namespace
}  // namespace rocescope
