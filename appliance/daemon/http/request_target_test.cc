// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/http/request_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include <string>
#include <vector>

#include "appliance/daemon/http/host_name.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(RequestTarget, IsAPathAndAQuery) {
  const auto target = ParseRequestTarget("/api/v1/jobs/a%20b+c?x=1&job=p%26q+r&flag&x=2");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/api/v1/jobs/a b+c");
  EXPECT_THAT(target->query, ElementsAre(Pair("flag", ""), Pair("job", "p&q r"), Pair("x", "2")));
  EXPECT_EQ(target->repeated, "x");
  EXPECT_EQ(ParseRequestTarget("/?a=1&b=1")->repeated, "");
}

TEST(RequestTarget, NeedsNoQuery) {
  EXPECT_THAT(ParseRequestTarget("/")->query, IsEmpty());
  EXPECT_THAT(ParseRequestTarget("/?")->query, IsEmpty());
  EXPECT_THAT(ParseRequestTarget("/?&&")->query, IsEmpty());
}

TEST(RequestTarget, RejectsMalformedTargets) {
  for (const char* text : {"", "*", "http://host/", "/%", "/%4", "/%zz", "/%00", "/?a=%", "/?%0"}) {
    EXPECT_EQ(ParseRequestTarget(text), std::nullopt) << text;
  }
}

TEST(OwnHost, IsAnAddressOrLocalhost) {
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:8080", "localhost", "LocalHost:1", "[::1]",
                           "[::1]:8080", "192.0.2.7:80"}) {
    EXPECT_TRUE(IsOwnHost(host)) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "[::1", "[evil]"}) {
    EXPECT_FALSE(IsOwnHost(host)) << host;
  }
}

TEST(OwnHost, HasNothingButAPortAfterTheHost) {
  EXPECT_TRUE(IsOwnHost("localhost:65535"));
  for (const char* host : {"localhost:80@evil", "localhost:", "localhost:0", "localhost:65536",
                           "localhost:+80", "localhost:80:80", "127.0.0.1:8080.evil.example",
                           "[::1]evil.com", "[::1]80", "[::1]:", "[::1]:80@evil", "[::1]:x"}) {
    EXPECT_FALSE(IsOwnHost(host)) << host;
  }
}

TEST(OwnHost, IsAConfiguredName) {
  const std::vector<std::string> names = {"appliance.example.org", "Appliance"};
  for (const char* host :
       {"appliance.example.org", "APPLIANCE.example.org:8443", "appliance", "localhost"}) {
    EXPECT_TRUE(IsOwnHost(host, names)) << host;
  }
  for (const char* host :
       {"appliance.example.org.evil.example", "xappliance", "example.org", "applianc", ":80"}) {
    EXPECT_FALSE(IsOwnHost(host, names)) << host;
  }
}

TEST(OwnOrigin, IsThatOfTheHostHeader) {
  for (const auto& [origin, host] : {std::pair("http://127.0.0.1:8080", "127.0.0.1:8080"),
                                     std::pair("https://[::1]:8443", "[::1]:8443"),
                                     std::pair("HTTP://LocalHost", "localhost")}) {
    EXPECT_TRUE(IsOwnOrigin(origin, host)) << origin;
  }
  for (const char* origin :
       {"null", "", "http://", "127.0.0.1:8080", "http://127.0.0.1", "http://127.0.0.1:9090",
        "http://192.0.2.7:8080", "http://evil.example", "http://127.0.0.1:8080.evil.example",
        "file://127.0.0.1:8080", "http://127.0.0.1:8080/"}) {
    EXPECT_FALSE(IsOwnOrigin(origin, "127.0.0.1:8080")) << origin;
  }
  EXPECT_FALSE(IsOwnOrigin("http://", "")) << "HTTP/1.0 without a Host header";
}

// A proxy that terminates TLS may send its own address in the Host header.
TEST(OwnOrigin, IsAConfiguredName) {
  const std::vector<std::string> names = {"scope.example.org"};
  for (const char* origin : {"https://scope.example.org", "https://Scope.example.org:8443"}) {
    EXPECT_TRUE(IsOwnOrigin(origin, "127.0.0.1:8080", names)) << origin;
  }
  for (const char* origin :
       {"https://scope.example.org.evil.example", "https://evil.example",
        "https://scope.example.org:x", "https://scope.example.org@evil", "https://localhost"}) {
    EXPECT_FALSE(IsOwnOrigin(origin, "127.0.0.1:8080", names)) << origin;
  }
}

}  // namespace
}  // namespace rocescope
