// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/scrape/http_fetch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <map>
#include <vector>

#include "appliance/daemon/http/http_server.h"
#include "tests/support/certificates.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(HttpUrl, HasHostPortAndTarget) {
  const auto url = ParseHttpUrl("http://10.0.0.7:9400/metrics?a=b");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "10.0.0.7");
  EXPECT_EQ(url->port, "9400");
  EXPECT_EQ(url->target, "/metrics?a=b");
  EXPECT_EQ(ParseHttpUrl("http://leaf0")->port, "80");
  EXPECT_EQ(ParseHttpUrl("http://leaf0")->target, "/");
  EXPECT_EQ(ParseHttpUrl("http://[::1]:9/x")->host, "::1");
  EXPECT_EQ(ParseHttpUrl("http://[::1]")->port, "80");
}

TEST(HttpUrl, RejectsInvalidPorts) {
  for (const char* text :
       {"http://a:0", "http://a:65536/", "http://a:99999", "http://a:4294967376"}) {
    const auto url = ParseHttpUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error().message, HasSubstr("ports are from 1 to 65535"));
  }
  EXPECT_EQ(ParseHttpUrl("http://a:65535")->port, "65535");
}

TEST(HttpUrl, MayBeHttpsIfAllowed) {
  const auto url = ParseHttpUrl("https://appliance.example.org/", UrlSchemes::kHttpAndHttps);
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->has_tls);
  EXPECT_EQ(url->port, "443");
  EXPECT_EQ(url->host, "appliance.example.org");
  EXPECT_FALSE(ParseHttpUrl("http://appliance", UrlSchemes::kHttpAndHttps)->has_tls);
}

TEST(HttpUrl, RejectsAnythingElse) {
  for (const char* text :
       {"", "leaf0:9400", "https://leaf0", "http://", "http://:80", "http://a:b", "http://a:/",
        "http://a b/", "http://a/b c", "http://::1:80/", "http://user@a/", "http://a:123456"}) {
    EXPECT_FALSE(ParseHttpUrl(text)) << text;
  }
}

class FetchTest : public testing::Test {
 protected:
  Result<std::string> Get(HttpHandler handler, const HttpFetcher::Limits& limits = {}) {
    auto server = HttpServer::Open({.address = IpAddress::FromV4(0x7f000001)}, std::move(handler));
    EXPECT_TRUE(server);
    (*server)->Start();
    return Get((*server)->port(), limits);
  }
  Result<std::string> Get(uint16_t port, const HttpFetcher::Limits& limits = {}) {
    HttpFetcher fetcher;
    return Get(fetcher, port, "/m", limits);
  }
  Result<std::string> Get(HttpFetcher& fetcher, uint16_t port, const std::string& target,
                          const HttpFetcher::Limits& limits = {}) {
    Result<std::string> got = MakeError(ErrorCode::kInternal, "nobody called back");
    fetcher.Get({.host = "127.0.0.1", .port = std::to_string(port), .target = target}, limits,
                [&](Result<std::string> answer) { got = std::move(answer); });
    fetcher.Run(std::chrono::seconds(20));
    return got;
  }
};

TEST_F(FetchTest, GetsABody) {
  const auto got = Get([](const HttpRequest& request) {
    return HttpResponse{.content_type = "text/plain", .body = "for " + request.target};
  });
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, "for /m");
}

// RFC 9110, section 7.2, and RFC 3986, section 3.2.2.
TEST_F(FetchTest, PutsIpv6AddressesInBracketsInTheHostHeader) {
  auto server = HttpServer::Open({.address = {.low = 1}},
                                 [](const HttpRequest&) { return HttpResponse{.body = "here"}; });
  if (!server) GTEST_SKIP() << server.error().message;
  (*server)->Start();
  HttpFetcher fetcher;
  Result<std::string> got = MakeError(ErrorCode::kInternal, "nobody called back");
  fetcher.Get({.host = "::1", .port = std::to_string((*server)->port())}, {},
              [&](Result<std::string> answer) { got = std::move(answer); });
  fetcher.Run(std::chrono::seconds(20));
  EXPECT_EQ(got, "here");
}

class TlsFetchTest : public FetchTest {
 protected:
  TlsFetchTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rocescope-fetch-" + std::to_string(getpid()))),
        certificates_(folder_) {
    certificates_.Sign("appliance", "-addext subjectAltName=IP:127.0.0.1");
    certificates_.Sign("named", "-addext subjectAltName=DNS:appliance.example.org");
    certificates_.Sign("viewer1", "");
  }
  ~TlsFetchTest() override { std::filesystem::remove_all(folder_); }

  TlsTexts TextsOf(const std::string& name) const {
    return {.certificate = certificates_.Read(name + ".pem"),
            .key = certificates_.Read(name + ".key"),
            .peer_ca = certificates_.Read("ca.pem")};
  }
  // A URL of this server, at its address.
  Result<std::string> GetFrom(const std::string& name) const {
    const auto server =
        HttpServer::Open({.address = IpAddress::FromV4(0x7f000001), .tls = TextsOf(name)},
                         [](const HttpRequest&) { return HttpResponse{.body = "secret"}; });
    (*server)->Start();
    auto fetcher = HttpFetcher::WithTls(TextsOf("viewer1"));
    Result<std::string> got = MakeError(ErrorCode::kInternal, "nobody called back");
    fetcher->Get({.host = "127.0.0.1", .port = std::to_string((*server)->port()), .has_tls = true},
                 {}, [&](Result<std::string> answer) { got = std::move(answer); });
    fetcher->Run(std::chrono::seconds(20));
    return got;
  }

  const std::filesystem::path folder_;
  const test::Certificates certificates_;
};

TEST_F(TlsFetchTest, AcceptsOnlyACertificateOfTheHost) {
  EXPECT_EQ(GetFrom("appliance"), "secret");
  const auto other = GetFrom("named");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("certificate verify failed"));
}

TEST_F(TlsFetchTest, HttpsRequiresCertificates) {
  Result<std::string> got = MakeError(ErrorCode::kInternal, "nobody called back");
  HttpFetcher().Get({.host = "127.0.0.1", .has_tls = true}, {},
                    [&](Result<std::string> answer) { got = std::move(answer); });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "https requires certificates");
}

TEST_F(FetchTest, ReportsAnErrorStatus) {
  const auto got = Get([](const HttpRequest&) { return HttpResponse{.status = 404}; });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "HTTP status 404");
}

TEST_F(FetchTest, ExplainsAnErrorStatusFromItsBody) {
  auto server = HttpServer::Open(
      {.address = IpAddress::FromV4(0x7f000001)},
      [](const HttpRequest&) { return HttpResponse{.status = 403, .body = "not allowed"}; });
  ASSERT_TRUE(server);
  (*server)->Start();
  Result<std::string> got = MakeError(ErrorCode::kInternal, "nobody called back");
  HttpFetcher fetcher;
  fetcher.Get(
      {.host = "127.0.0.1", .port = std::to_string((*server)->port())}, {},
      [&](Result<std::string> answer) { got = std::move(answer); },
      [](std::string_view body) { return fmt::format("<{}>", body); });
  fetcher.Run(std::chrono::seconds(10));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "HTTP status 403: <not allowed>");
}

TEST_F(FetchTest, RejectsATooLargeBody) {
  const auto got =
      Get([](const HttpRequest&) { return HttpResponse{.body = std::string(5000, 'x')}; },
          {.most_bytes = 4096});
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("body limit"));
}

// A server that withholds the end of a body keeps its memory until the timeout.
TEST_F(FetchTest, LimitsTheBodiesOfAllPendingRequests) {
  auto server =
      HttpServer::Open({.address = IpAddress::FromV4(0x7f000001)}, [](const HttpRequest& request) {
        const bool is_small = request.target == "/small";
        HttpResponse response = {.body = std::string(is_small ? 1000 : 3000, 'x')};
        if (!is_small) response.stream = [] { return std::string(); };
        return response;
      });
  ASSERT_TRUE(server);
  (*server)->Start();
  HttpFetcher fetcher(7000);
  std::map<std::string, std::string> answers;
  for (const char* target : {"/a", "/b", "/c", "/small"}) {
    fetcher.Get({.host = "127.0.0.1", .port = std::to_string((*server)->port()), .target = target},
                {.timeout = std::chrono::seconds(5)},
                [&answers, target](const Result<std::string>& answer) {
                  answers[target] += answer ? *answer : answer.error().message;
                });
  }
  fetcher.Run(std::chrono::seconds(20));
  EXPECT_EQ(answers["/small"], std::string(1000, 'x'));
  EXPECT_THAT(
      (std::vector{answers["/a"], answers["/b"], answers["/c"]}),
      UnorderedElementsAre(HasSubstr("exceed the limit of 7,000 bytes"),
                           "no response before the timeout", "no response before the timeout"));
  // Nothing is left of their memory.
  const Result<std::string> more = Get(fetcher, (*server)->port(), "/small");
  EXPECT_EQ(more, std::string(1000, 'x'));
}

TEST_F(FetchTest, ABodyMayHaveAllMemoryOfTheOthers) {
  auto server = HttpServer::Open(
      {.address = IpAddress::FromV4(0x7f000001)},
      [](const HttpRequest&) { return HttpResponse{.body = std::string(300'000, 'x')}; });
  ASSERT_TRUE(server);
  (*server)->Start();
  HttpFetcher fetcher(300'000);
  for (int i = 0; i < 2; ++i) {
    const Result<std::string> got = Get(fetcher, (*server)->port(), "/");
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->size(), 300'000u);
  }
  HttpFetcher smaller(299'999);
  const Result<std::string> got = Get(smaller, (*server)->port(), "/");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kResourceExhausted);
}

TEST_F(FetchTest, TimesOut) {
  const auto got = Get(
      [](const HttpRequest&) {
        return HttpResponse{.body = "x", .stream = [] { return std::string("y"); }};
      },
      {.timeout = std::chrono::milliseconds(300)});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "no response before the timeout");
}

TEST_F(FetchTest, ReportsARefusedConnection) {
  uint16_t port = 0;
  {
    auto server = HttpServer::Open({.address = IpAddress::FromV4(0x7f000001)},
                                   [](const HttpRequest&) { return HttpResponse(); });
    port = (*server)->port();
  }
  const auto got = Get(port);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message, HasSubstr("refused"));
}

}  // namespace
}  // namespace rocescope
