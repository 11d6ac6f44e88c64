// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/http/http_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "appliance/daemon/http/test_socket.h"

namespace rocescope {
namespace {

using test::Socket;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr IpAddress kLoopback = IpAddress::FromV4(0x7f000001);

std::unique_ptr<HttpServer> Serve(HttpHandler handler, HttpServer::Options options = {}) {
  options.address = kLoopback;
  auto server = HttpServer::Open(options, std::move(handler));
  EXPECT_TRUE(server) << server.error().message;
  (*server)->Start();
  return *std::move(server);
}

HttpResponse Echo(const HttpRequest& request) {
  return {.content_type = "text/plain",
          .body = request.method + " " + request.target + " " + request.last_event_id};
}

TEST(HttpServer, ServesSeveralRequestsOnOneConnection) {
  const auto server = Serve(Echo);
  Socket client(server->port());
  client.Say("GET /a?b HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 7\r\n\r\n");
  EXPECT_THAT(client.ReceiveUntil("GET /a?b 7"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Length: 10\r\n"),
                    HasSubstr("X-Content-Type-Options: nosniff\r\n")));
  client.Say("GET /c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReceiveAll(), EndsWith("GET /c <closed>"));
  EXPECT_EQ(server->Counters().requests, 2u);
  EXPECT_EQ(server->Counters().accepted, 1u);
}

TEST(HttpServer, HeadIsGetWithoutItsBody) {
  const auto server = Serve(Echo);
  Socket client(server->port());
  client.Say("HEAD /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReceiveAll(),
              AllOf(HasSubstr("Content-Length: 7\r\n"), EndsWith("\r\n\r\n<closed>")));
}

TEST(HttpServer, RefusesAnUnknownHostHeader) {
  const auto server = Serve(Echo);
  Socket client(server->port());
  client.Say("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_THAT(client.ReceiveAll(), StartsWith("HTTP/1.1 421 "));
  EXPECT_EQ(server->Counters().requests, 0u);
  EXPECT_EQ(server->Counters().bad_requests, 1u);
}

// RFC 9112, 3.2: proxies may use either of them.
TEST(HttpServer, RefusesTwoHostHeaders) {
  const auto server = Serve(Echo);
  Socket client(server->port());
  client.Say("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n");
  EXPECT_THAT(client.ReceiveAll(),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("one Host header")));
}

TEST(HttpServer, RequiresAHostHeaderInHttp11) {
  const auto server = Serve(Echo);
  Socket client(server->port());
  client.Say("GET /a HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.ReceiveAll(),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("requires a Host header")));
  Socket old(server->port());
  old.Say("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.ReceiveAll(), HasSubstr(" 200 OK\r\n"));
}

TEST(HttpServer, RefusesAnUnknownTransferEncoding) {
  const auto server = Serve(Echo);
  for (const char* coding : {"gzip", "chunked, gzip", "xchunked", ""}) {
    Socket client(server->port());
    client.Say(std::string("GET /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: ") + coding +
               "\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string heard = client.ReceiveAll();
    EXPECT_THAT(heard, AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("Connection: close\r\n"),
                             Not(HasSubstr("/b"))))
        << coding;
  }
  EXPECT_EQ(server->Counters().requests, 0u);
}

TEST(HttpServer, RefuserFormatsTheBody) {
  const auto server =
      Serve(Echo, {.refuse = [](const HttpRefusal& refusal) {
              return HttpResponse{.content_type = "application/json",
                                  .body = "{" + refusal.target + " " + refusal.why + "}"};
            }});
  Socket client(server->port());
  client.Say("GET /api/v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12345");
  EXPECT_THAT(client.ReceiveAll(),
              AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("Content-Type: application/json\r\n"),
                    HasSubstr("Connection: close\r\n"),
                    HasSubstr("{/api/v1/x GET and HEAD requests must not have a body}")));
}

TEST(HttpServer, RefusesOtherMethodsWithABody) {
  const auto server = Serve(Echo);
  for (const char* body : {"Content-Length: 5\r\n\r\n12345",
                           "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n"}) {
    Socket client(server->port());
    client.Say(std::string("POST /a HTTP/1.1\r\nHost: localhost\r\n") + body);
    EXPECT_THAT(client.ReceiveAll(),
                AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n"),
                      HasSubstr("Connection: close\r\n"), HasSubstr("method POST")));
  }
}

HttpResponse EchoBody(const HttpRequest& request) {
  return {.content_type = "text/plain",
          .body = request.method + " [" + request.content_type + "] [" + request.body + "]"};
}

std::string Post(const std::string& headers, const std::string& body) {
  return "POST /a HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n" + body;
}

TEST(HttpServer, PassesTheBodyOfPost) {
  const auto server = Serve(EchoBody, {.max_body = 64});
  Socket client(server->port());
  client.Say(Post("Content-Type: application/json\r\nContent-Length: 5\r\n", "12345") +
             Post("Content-Length: 0\r\n", ""));
  EXPECT_THAT(client.ReceiveUntil("POST [] []"), HasSubstr("POST [application/json] [12345]"));
  // The body may arrive later than the header, and in parts.
  client.Say(Post("Content-Length: 64\r\n", ""));
  client.Say(std::string(32, 'x'));
  client.Say(std::string(32, 'y'));
  EXPECT_THAT(client.ReceiveUntil("y]"), StartsWith("HTTP/1.1 200 OK"));
  client.Say("GET /b HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.ReceiveUntil("GET [] []"), HasSubstr(" 200 OK"));
  EXPECT_EQ(server->Counters().accepted, 1u);
}

TEST(HttpServer, RefusesPostWithABadBody) {
  const auto server = Serve(EchoBody, {.max_body = 64});
  const auto ask = [&](const std::string& headers, const std::string& body) {
    Socket client(server->port());
    client.Say(Post(headers, body));
    return client.ReceiveAll();
  };
  EXPECT_THAT(ask("Content-Length: 65\r\n", std::string(65, 'x')),
              AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("the body exceeds 64 bytes"),
                    HasSubstr("Connection: close\r\n")));
  EXPECT_THAT(ask("Content-Length: 18446744073709551615\r\n", "x"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask("", ""), AllOf(StartsWith("HTTP/1.1 411 "), HasSubstr("Content-Length")));
  EXPECT_THAT(ask("Transfer-Encoding: chunked\r\n", "5\r\n12345\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 411 "));
  EXPECT_THAT(ask("Content-Length: x\r\n", ""), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("Content-Length: 5\r\nContent-Length: 6\r\n", "123456"),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("Content-Length: 5\r\nExpect: 100-continue\r\n", ""),
              StartsWith("HTTP/1.1 417 "));
  EXPECT_EQ(server->Counters().requests, 0u);
}

TEST(HttpServer, AnIncompleteBodyEndsWithTheTimeLimit) {
  const auto server =
      Serve(EchoBody, {.timeout_seconds = 600, .body_timeout_seconds = 1, .max_body = 64});
  Socket client(server->port());
  client.Say(Post("Content-Length: 5\r\n", "123"));
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(server->Counters().requests, 0u);
}

TEST(HttpServer, RefusesPostFromPagesOfOtherSites) {
  const auto server = Serve(EchoBody, {.max_body = 64, .names = {"scope.example"}});
  const auto status = [&](const std::string& headers) {
    Socket client(server->port());
    client.Say(Post(headers + "Content-Length: 2\r\nConnection: close\r\n", "{}"));
    return client.ReceiveAll().substr(9, 3);
  };
  EXPECT_EQ(status(""), "200") << "not a browser";
  EXPECT_EQ(status("Origin: http://localhost\r\n"), "200");
  EXPECT_EQ(status("Origin: https://scope.example\r\n"), "200");
  EXPECT_EQ(status("Origin: http://evil.example\r\n"), "403");
  EXPECT_EQ(status("Origin: http://localhost:9090\r\n"), "403");
  EXPECT_EQ(status("Origin: null\r\n"), "403");
}

TEST(HttpServer, OtherMethodsStillHaveNoBody) {
  const auto server = Serve(EchoBody, {.max_body = 64});
  const auto ask = [&](const std::string& request) {
    Socket client(server->port());
    client.Say(request);
    return client.ReceiveAll();
  };
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12345"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask("GET /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "5\r\n12345\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask("PUT /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12345"),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD, POST\r\n")));
}

TEST(HttpServer, RefusesMalformedRequests) {
  const auto server = Serve(Echo);
  for (const std::string& text :
       {std::string("nonsense\r\n\r\n"),
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(9000, 'x') + "\r\n\r\n",
        std::string("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12345")}) {
    Socket client(server->port());
    client.Say(text);
    EXPECT_THAT(client.ReceiveAll(), StartsWith("HTTP/1.1 4")) << text.substr(0, 40);
  }
  EXPECT_EQ(server->Counters().bad_requests, 3u);
}

TEST(HttpServer, NamesThePartThatIsTooLong) {
  const auto server = Serve(Echo);
  const std::string headers = "\r\nHost: localhost\r\nX: " + std::string(9000, 'x') + "\r\n\r\n";
  for (const auto& [text, status] :
       {std::pair("GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "414"),
        std::pair("GET / HTTP/1.1" + headers, "431")}) {
    Socket client(server->port());
    client.Say(text);
    EXPECT_THAT(client.ReceiveAll(),
                AllOf(StartsWith(std::string("HTTP/1.1 ") + status),
                      HasSubstr("Connection: close\r\n"), HasSubstr("8192 bytes")));
  }
  Socket client(server->port());  // the request line arrives in two parts
  client.Say("GET / HT");
  client.Say("TP/1.1" + headers);
  EXPECT_THAT(client.ReceiveAll(), StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, StreamsUntilTheClientDisconnects) {
  std::atomic<int> asked = 0;
  const auto server = Serve([&](const HttpRequest&) {
    return HttpResponse{.content_type = "text/event-stream", .body = "first\n", .stream = [&] {
                          return ++asked % 2 == 0 ? "more\n" : "";
                        }};
  });
  Socket client(server->port());
  client.Say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string heard = client.ReceiveUntil("more\nmore\n");
  EXPECT_THAT(heard, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\n\r\nfirst\nmore\n"),
                           Not(HasSubstr("Content-Length"))));
  EXPECT_EQ(server->Counters().streams, 1u);
}

HttpResponse EchoOrStream(const HttpRequest& request) {
  if (request.target != "/events") return Echo(request);
  return {.body = "first\n", .stream = [] { return std::string("more\n"); }};
}

TEST(HttpServer, HeadOfAStreamHasNoBodyAndCountsNotAsAStream) {
  const auto server = Serve(EchoOrStream, {.streams = 0});
  Socket client(server->port());
  client.Say("HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.ReceiveAll(),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Connection: close\r\n"),
                    Not(HasSubstr("Content-Length")), EndsWith("\r\n\r\n<closed>")));
  EXPECT_EQ(server->Counters().streams, 0u);
}

TEST(HttpServer, RefusesConnectionsOverTheLimit) {
  const auto server = Serve(EchoOrStream, {.connections = 1});
  Socket first(server->port());
  first.Say("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  first.ReceiveUntil("first");
  Socket second(server->port());
  second.Say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(second.ReceiveAll(),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Connection: close\r\n"),
                    HasSubstr("maximum number of open connections reached")));
  EXPECT_EQ(server->Counters().refused, 1u);
  EXPECT_EQ(server->Counters().streaming, 1u);
}

TEST(HttpServer, LongestIdleConnectionIsReplaced) {
  const auto server = Serve(EchoOrStream, {.connections = 3, .streams = 1});
  constexpr const char* kPage = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n";
  Socket events(server->port());
  events.Say("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  events.ReceiveUntil("first");
  Socket silent(server->port());
  silent.Say("GET / HT");
  Socket page(server->port());
  page.Say(kPage);
  page.ReceiveUntil("GET /page");
  Socket another(server->port());
  another.Say(kPage);
  EXPECT_THAT(another.ReceiveUntil("GET /page"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(silent.ReceiveAll(), "<closed>");
  page.Say(kPage);
  EXPECT_THAT(page.ReceiveUntil("GET /page"), StartsWith("HTTP/1.1 200 "));
  events.ReceiveUntil("more");
}

// 127.0.0.2 stands for another client.
TEST(HttpServer, OnePeerCannotTakeAllConnections) {
  const auto server = Serve(Echo, {.connections = 4, .connections_a_peer = 2});
  const char* const ask = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";
  Socket calm(server->port(), "127.0.0.2");
  calm.Say(ask);
  EXPECT_THAT(calm.ReceiveUntil("GET /a "), StartsWith("HTTP/1.1 200 OK\r\n"));
  std::vector<std::unique_ptr<Socket>> greedy;
  for (int i = 0; i < 20; ++i) {
    greedy.push_back(std::make_unique<Socket>(server->port()));
    greedy.back()->Say(ask);
    greedy.back()->ReceiveUntil("GET /a ");
  }
  EXPECT_EQ(server->Counters().open, 3u);
  calm.Say(ask);
  EXPECT_THAT(calm.ReceiveUntil("GET /a "), StartsWith("HTTP/1.1 200 OK\r\n"))
      << "the connection that was idle longest is another client's";
}

// A connection that receives a stream is never idle, so it cannot be replaced.
TEST(HttpServer, BusyConnectionsOfOnePeerDoNotLockOutOthers) {
  const auto server = Serve(EchoOrStream, {.connections = 8, .connections_a_peer = 2});
  std::vector<std::unique_ptr<Socket>> greedy;
  for (int i = 0; i < 100; ++i) {
    greedy.push_back(std::make_unique<Socket>(server->port()));
    greedy.back()->Say("GET /events HTTP/1.1\r\nHost: localhost\r\n");  // not complete
    if (i < 2) greedy.back()->Say("\r\n");
    if (i < 2) greedy.back()->ReceiveUntil("first");
  }
  Socket calm(server->port(), "127.0.0.2");
  calm.Say("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(calm.ReceiveUntil("GET /a "), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_LE(server->Counters().open, 7u) << "two served, four that get status 503, and the other";
}

// A handler that waits for a permit, and counts its calls.
class SlowHandler {
 public:
  HttpResponse operator()(const HttpRequest& request) {
    ++calls;
    if (request.target == "/calm") is_calm_served = true;
    if (request.target == "/slow") permits.acquire();
    return Echo(request);
  }
  std::atomic<int> calls = 0;
  std::atomic<bool> is_calm_served = false;
  std::counting_semaphore<> permits{0};
};

TEST(HttpServer, PipelinedRequestsOfOnePeerDoNotDelayOthers) {
  SlowHandler handler;
  const auto server = Serve(std::ref(handler));
  std::vector<std::unique_ptr<Socket>> greedy;
  for (int i = 0; i < 64; ++i) {
    greedy.push_back(std::make_unique<Socket>(server->port()));
    greedy.back()->Say("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    greedy.back()->ReceiveUntil("GET /a ");
  }
  std::string pipelined;
  for (int i = 0; i < 100; ++i) pipelined += "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const auto& connection : greedy) connection->Say(pipelined);
  Socket calm(server->port(), "127.0.0.2");
  calm.Say("GET /calm HTTP/1.1\r\nHost: localhost\r\n\r\n");
  int permitted = 0;
  while (handler.calls <= 64) std::this_thread::yield();
  while (!handler.is_calm_served && permitted < 1000) {
    handler.permits.release();
    ++permitted;
    while (handler.calls <= 64 + permitted) std::this_thread::yield();
  }
  EXPECT_LE(permitted, 10) << "calls of the handler before the one for the other peer";
  handler.permits.release(64 * 100);
  EXPECT_THAT(calm.ReceiveUntil("GET /calm "), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(HttpServer, OnePeerCannotTakeAllStreams) {
  const auto server = Serve(EchoOrStream, {.streams = 8, .streams_a_peer = 2});
  constexpr const char* kEvents = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  auto one = std::make_unique<Socket>(server->port());
  Socket two(server->port());
  for (Socket* client : {one.get(), &two}) {
    client->Say(kEvents);
    client->ReceiveUntil("first");
  }
  Socket three(server->port());
  three.Say(kEvents);
  EXPECT_THAT(three.ReceiveAll(),
              AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("open streams of one client")));
  EXPECT_EQ(server->Counters().refused, 1u);
  Socket calm(server->port(), "127.0.0.2");
  calm.Say(kEvents);
  EXPECT_THAT(calm.ReceiveUntil("first"), StartsWith("HTTP/1.1 200 "));
  one.reset();
  while (server->Counters().streaming > 2) std::this_thread::yield();
  Socket four(server->port());
  four.Say(kEvents);
  EXPECT_THAT(four.ReceiveUntil("first"), StartsWith("HTTP/1.1 200 "));
}

// The digest of "secret" (sha256sum).
constexpr const char* kSecret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

TEST(HttpServer, LimitsTheStreamsOfAToken) {
  // The second one is the digest of "other" (sha256sum).
  const auto tokens = BearerTokens::Make(
      {{.sha256 = kSecret},
       {.sha256 = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"}});
  ASSERT_TRUE(tokens);
  const auto server = Serve(EchoOrStream, {.tokens = *tokens, .streams_a_peer = 1});
  const auto ask = [](const std::string& token) {
    return "GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n";
  };
  Socket first(server->port());
  first.Say(ask("secret"));
  EXPECT_THAT(first.ReceiveUntil("first"), StartsWith("HTTP/1.1 200 "));
  Socket second(server->port(), "127.0.0.2");
  second.Say(ask("secret"));
  EXPECT_THAT(second.ReceiveAll(), StartsWith("HTTP/1.1 429 "));
  Socket other(server->port());
  other.Say(ask("other"));
  EXPECT_THAT(other.ReceiveUntil("first"), StartsWith("HTTP/1.1 200 "));
}

// The responses that the peer does not read are more than it may have in the server's memory.
TEST(HttpServer, OnePeerCannotFillTheMemoryWithUnreadResponses) {
  std::atomic<int> handled = 0;
  const auto server = Serve([&](const HttpRequest& request) {
    if (request.target == "/calm") return Echo(request);
    ++handled;
    return HttpResponse{.body = std::string(12 << 20, 'x')};
  });
  std::vector<std::unique_ptr<Socket>> greedy;
  for (int i = 0; i < 8; ++i) {
    greedy.push_back(std::make_unique<Socket>(server->port()));
    greedy.back()->Say("GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }
  Socket calm(server->port(), "127.0.0.2");
  while (handled < 2) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) {
    calm.Say("GET /calm HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(calm.ReceiveUntil("GET /calm "), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  EXPECT_EQ(handled, 2);
  for (const auto& connection : greedy) EXPECT_TRUE(connection->IsClosed());
  EXPECT_EQ(handled, 8) << "the others wait for the first ones";
}

TEST(HttpServer, RequiresAToken) {
  const auto tokens = BearerTokens::Make({{.sha256 = kSecret}});
  ASSERT_TRUE(tokens);
  const auto server = Serve(Echo, {.tokens = *tokens});
  const auto ask = [&](const std::string& header) {
    Socket client(server->port());
    client.Say("GET /a HTTP/1.1\r\nHost: localhost\r\n" + header + "Connection: close\r\n\r\n");
    return client.ReceiveAll();
  };
  EXPECT_THAT(ask("Authorization: Bearer secret\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  for (const char* header : {"", "Authorization: Bearer secre\r\n", "Authorization: secret\r\n",
                             "Authorization: Basic secret\r\n", "Authorization: Bearer \r\n"}) {
    EXPECT_THAT(ask(header), AllOf(StartsWith("HTTP/1.1 401 Unauthorized\r\n"),
                                   HasSubstr("WWW-Authenticate: Bearer\r\n")))
        << header;
  }
  EXPECT_EQ(server->Counters().requests, 1u);
  for (const char* digest :
       {"", "secret", "2bb8", "zbb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"}) {
    EXPECT_FALSE(BearerTokens::Make({{.sha256 = digest}})) << digest;
  }
}

TEST(HttpServer, PassesTheClientOfTheTokenToTheHandler) {
  const std::string other = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa";
  const auto tokens = BearerTokens::Make(
      {{.sha256 = kSecret},
       {.name = "ada", .sha256 = other, .role = TokenRole::kTenant, .users = {"alice", "bob"}}});
  ASSERT_TRUE(tokens);
  std::vector<Caller> callers;
  const auto server = Serve(
      [&](const HttpRequest& request) {
        callers.push_back(request.caller);
        return Echo(request);
      },
      {.tokens = *tokens});
  // A connection may change the token.
  Socket client(server->port());
  for (const char* token : {"secret", "other", "secret"}) {
    client.Say(fmt::format("GET /a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
                           token));
    EXPECT_THAT(client.ReceiveUntil("GET /a "), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  ASSERT_EQ(callers.size(), 3u);
  for (const size_t i : {0, 2}) {
    EXPECT_EQ(callers[i].name, "token 1");
    EXPECT_EQ(callers[i].roles, Of(CallerRole::kViewer));
    EXPECT_TRUE(callers[i].users.empty());
  }
  EXPECT_EQ(callers[1].name, "ada");
  EXPECT_EQ(callers[1].roles, Of(CallerRole::kTenant));
  EXPECT_FALSE(callers[1].MayReadAll());
  EXPECT_TRUE(callers[1].IsUser("alice"));
  EXPECT_FALSE(callers[1].IsUser(""));
}

TEST(HttpServer, ServesRequestsDuringFullStreamsAndIdleConnections) {
  const auto server = Serve(EchoOrStream);
  std::vector<std::unique_ptr<Socket>> others;
  for (int i = 0; i < 300; ++i) {
    others.push_back(std::make_unique<Socket>(server->port()));
    if (i < 32) others.back()->Say("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (i < 32) others.back()->ReceiveUntil("first");
  }
  Socket client(server->port());
  client.Say("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.ReceiveUntil("GET /metrics"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(server->Counters().streaming, 32u);
  EXPECT_LE(server->Counters().open, 256u);
}

TEST(HttpServer, RefusesStreamsOverTheLimitButServesRequests) {
  const auto server = Serve(EchoOrStream, {.connections = 4, .streams = 2});
  constexpr const char* kEvents = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  auto one = std::make_unique<Socket>(server->port());
  Socket two(server->port());
  for (Socket* client : {one.get(), &two}) {
    client->Say(kEvents);
    client->ReceiveUntil("first");
  }
  {
    Socket three(server->port());
    three.Say(kEvents);
    EXPECT_THAT(three.ReceiveAll(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: "),
                                          HasSubstr("try again later"), Not(HasSubstr("first"))));
    Socket page(server->port());
    page.Say("GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(page.ReceiveUntil("GET /page"), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_EQ(server->Counters().refused, 1u);
  EXPECT_EQ(server->Counters().streaming, 2u);
  one.reset();
  while (server->Counters().streaming > 1) std::this_thread::yield();
  Socket four(server->port());
  four.Say(kEvents);
  EXPECT_THAT(four.ReceiveUntil("first"), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, ClosesASilentConnection) {
  const auto server = Serve(Echo, {.timeout_seconds = 1});
  Socket client(server->port());
  client.Say("GET / HT");
  EXPECT_EQ(client.ReceiveAll(), "<closed>");
}

TEST(HttpServer, ClosesAConnectionThatDoesNotRead) {
  const auto server = Serve(
      [](const HttpRequest&) {
        return HttpResponse{.content_type = "text/plain", .body = std::string(64 << 20, 'x')};
      },
      {.timeout_seconds = 1});
  Socket client(server->port());
  client.Say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  while (server->Counters().broken_off == 0) std::this_thread::yield();
  EXPECT_EQ(server->Counters().broken_off, 1u);
}

TEST(HttpServer, StopsInTheMiddleOfAStream) {
  auto server = Serve([](const HttpRequest&) {
    return HttpResponse{.body = "x", .stream = [] { return std::string("y"); }};
  });
  Socket client(server->port());
  client.Say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.ReceiveUntil("xy");
  server->Stop();
  EXPECT_THAT(client.ReceiveAll(), EndsWith("<closed>"));
}

TEST(HttpServer, ReportsAPortInUse) {
  const auto first = Serve(Echo);
  const auto second = HttpServer::Open({.address = kLoopback, .port = first->port()}, Echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("check that no other program uses the port"));
}

}  // namespace
}  // namespace rocescope
