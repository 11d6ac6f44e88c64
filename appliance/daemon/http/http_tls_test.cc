// SPDX-License-Identifier: BSD-3-Clause
// HttpServer over TLS, tested with an OpenSSL client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "appliance/daemon/http/http_server.h"
#include "appliance/daemon/http/test_socket.h"
#include "tests/support/certificates.h"

namespace rocescope {
namespace {

using test::Socket;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr IpAddress kLoopback = IpAddress::FromV4(0x7f000001);
constexpr const char* kAsk = "GET /page HTTP/1.1\r\nHost: appliance.example.org\r\n\r\n";

struct Versions {
  int least = 0;
  int most = 0;  // maximum version; 0: default of OpenSSL
};

class TlsClient {
 public:
  // Uses NAME.pem and NAME.key; no certificate if `name` is empty.
  TlsClient(uint16_t port, const test::Certificates& certificates, const std::string& name,
            Versions versions = {})
      : socket_(port), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    SSL_CTX_set_security_level(context_.get(), 0);  // allows obsolete versions
    SSL_CTX_set_min_proto_version(context_.get(), versions.least);
    SSL_CTX_set_max_proto_version(context_.get(), versions.most);
    if (!name.empty()) {
      EXPECT_EQ(SSL_CTX_use_certificate_file(
                    context_.get(), certificates.Path(name + ".pem").c_str(), SSL_FILETYPE_PEM),
                1);
      EXPECT_EQ(SSL_CTX_use_PrivateKey_file(
                    context_.get(), certificates.Path(name + ".key").c_str(), SSL_FILETYPE_PEM),
                1);
    }
    EXPECT_EQ(SSL_CTX_load_verify_file(context_.get(), certificates.Path("ca.pem").c_str()), 1);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.number());
    is_connected_ = SSL_connect(ssl_.get()) == 1;
  }

  bool is_connected() const { return is_connected_; }
  std::string version() const { return SSL_get_version(ssl_.get()); }
  void Say(const std::string& text) {
    SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size()));
  }
  // Returns the received text. It ends with "<closed>" after a close_notify, and with "<cut>"
  // without one.
  std::string ReceiveUntil(const std::string& end) {
    std::string heard;
    char some[4096];
    while (heard.find(end) == std::string::npos) {
      const int got = SSL_read(ssl_.get(), some, sizeof some);
      if (got <= 0) {
        const bool is_said = SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN;
        return heard + (is_said ? "<closed>" : "<cut>");
      }
      heard.append(some, static_cast<size_t>(got));
    }
    return heard;
  }
  std::string ReceiveAll() { return ReceiveUntil("no text contains this"); }
  std::string Ask() {
    Say(kAsk);
    return ReceiveUntil("for /page");
  }

 private:
  Socket socket_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
  bool is_connected_ = false;
};

HttpResponse Answer(const HttpRequest& request) {
  if (request.target == "/events") {
    return {.body = "first\n", .stream = [] { return std::string("more\n"); }};
  }
  return {.content_type = "text/plain", .body = "for " + request.target};
}

class HttpTlsTest : public testing::Test {
 protected:
  HttpTlsTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rocescope-http-" + std::to_string(getpid()))),
        certificates_(folder_ / "ours"),
        strangers_(folder_ / "theirs") {
    std::signal(SIGPIPE, SIG_IGN);  // a client may write to a connection that the server closed
    certificates_.Sign("appliance", "-addext subjectAltName=IP:127.0.0.1");
    certificates_.Sign("viewer1", "-addext subjectAltName=DNS:viewer1");
  }
  ~HttpTlsTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  HttpServer::Options Options() const {
    return {.address = kLoopback,
            .names = {"appliance.example.org"},
            .tls = {.certificate = certificates_.Read("appliance.pem"),
                    .key = certificates_.Read("appliance.key"),
                    .peer_ca = certificates_.Read("ca.pem"),
                    .files = {.certificate = "appliance.pem",
                              .key = "appliance.key",
                              .client_ca = "ca.pem"}}};
  }
  void Serve(const HttpServer::Options& options) {
    auto server = HttpServer::Open(options, Answer);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    server_->Start();
  }
  std::unique_ptr<TlsClient> Open(const std::string& name = "viewer1",
                                  Versions versions = {}) const {
    return std::make_unique<TlsClient>(server_->port(), certificates_, name, versions);
  }
  void WaitForBadHandshakes(uint64_t count) const {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (server_->Counters().bad_handshakes < count && std::chrono::steady_clock::now() < late) {
      std::this_thread::yield();
    }
    EXPECT_EQ(server_->Counters().bad_handshakes, count);
  }

  const std::filesystem::path folder_;
  const test::Certificates certificates_;
  const test::Certificates strangers_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTlsTest, ServesSeveralRequestsAndSendsCloseNotify) {
  Serve(Options());
  const auto client = Open();
  EXPECT_THAT(client->Ask(), StartsWith("HTTP/1.1 200 OK\r\n"));
  client->Say("GET /c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client->ReceiveAll(), EndsWith("for /c<closed>"));
  EXPECT_EQ(server_->Counters().requests, 2u);
  EXPECT_EQ(server_->Counters().accepted, 1u);
  EXPECT_EQ(server_->Counters().bad_handshakes, 0u);
}

TEST_F(HttpTlsTest, RefusesTlsBefore12) {
  Serve(Options());
  EXPECT_EQ(Open()->version(), "TLSv1.3");
  const auto client = Open("viewer1", {.most = TLS1_2_VERSION});
  EXPECT_EQ(client->version(), "TLSv1.2");
  EXPECT_THAT(client->Ask(), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_FALSE(Open("viewer1", {.least = TLS1_VERSION, .most = TLS1_1_VERSION})->is_connected());
  WaitForBadHandshakes(1);
}

// In TLS 1.3 the client completes the handshake before the server has checked its certificate.
TEST_F(HttpTlsTest, RefusesMissingAndForeignCertificates) {
  Serve(Options());
  EXPECT_THAT(Open("")->Ask(), EndsWith("<cut>"));
  strangers_.Sign("viewer1", "-addext subjectAltName=DNS:viewer1");
  std::filesystem::copy_file(strangers_.Path("viewer1.pem"), certificates_.Path("eve.pem"));
  std::filesystem::copy_file(strangers_.Path("viewer1.key"), certificates_.Path("eve.key"));
  EXPECT_EQ(Open("eve")->Ask(), "<cut>");
  EXPECT_FALSE(Open("", {.most = TLS1_2_VERSION})->is_connected());
  WaitForBadHandshakes(3);
  EXPECT_EQ(server_->Counters().requests, 0u);
  EXPECT_THAT(Open()->Ask(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpTlsTest, RefusesRevokedCertificates) {
  certificates_.Sign("thief", "-addext subjectAltName=DNS:viewer1");
  certificates_.Revoke("thief");
  auto options = Options();
  options.tls.crl = certificates_.Read("crl.pem");
  Serve(options);
  EXPECT_THAT(Open("thief")->Ask(), EndsWith("<cut>"));
  WaitForBadHandshakes(1);
  EXPECT_THAT(Open()->Ask(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpTlsTest, UsesChangedCertificatesForNewConnections) {
  Serve(Options());
  const auto before = Open();
  EXPECT_THAT(before->Ask(), StartsWith("HTTP/1.1 200 OK\r\n"));
  TlsTexts garbage = Options().tls;
  garbage.certificate = "garbage";
  EXPECT_FALSE(server_->SetTls(garbage));
  EXPECT_THAT(Open()->Ask(), StartsWith("HTTP/1.1 200 OK\r\n")) << "the previous ones stay";
  certificates_.Revoke("viewer1");
  TlsTexts changed = Options().tls;
  changed.crl = certificates_.Read("crl.pem");
  ASSERT_TRUE(server_->SetTls(changed));
  EXPECT_THAT(Open()->Ask(), EndsWith("<cut>"));
  EXPECT_EQ(before->Ask(), "<cut>") << "open connections of revoked certificates end";
}

TEST_F(HttpTlsTest, NamesAListThatIsNotOfTheAuthority) {
  strangers_.Sign("other", "");
  strangers_.Revoke("other");
  auto options = Options();
  options.tls.files.crl = "crl.pem";
  certificates_.Revoke("viewer1");
  const std::string own = certificates_.Read("crl.pem");
  for (const auto& [crl, what] :
       {std::pair(strangers_.Read("crl.pem"),
                  "crl.pem: the certificate revocation list is not "
                  "signed by the CA in client_ca"),
        std::pair(std::string("garbage"), "crl.pem: expected certificate revocation lists"),
        std::pair(own + "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
                  "crl.pem: expected certificate revocation lists")}) {
    options.tls.crl = crl;
    const auto server = HttpServer::Open(options, Answer);
    ASSERT_FALSE(server);
    EXPECT_THAT(server.error().message, HasSubstr(what));
  }
}

TEST_F(HttpTlsTest, GateGetsTheNamesAndReturnsTheReason) {
  std::vector<std::vector<std::string>> heard;
  auto options = Options();
  options.gate = [&heard](const std::vector<std::string>& names) -> Result<Caller> {
    heard.push_back(names);
    if (names.front() == "viewer1") return Caller{.name = "Viewer One"};
    return MakeError(ErrorCode::kPermissionDenied, "you may not");
  };
  Serve(options);
  certificates_.Sign("several",
                     "-addext subjectAltName=DNS:a.example,IP:192.0.2.7,email:a@b.example");
  certificates_.Sign("old", "", "viewer1");
  certificates_.Sign("gpu7", "-addext subjectAltName=DNS:gpu7", "viewer1");
  EXPECT_THAT(Open("old")->Ask(), StartsWith("HTTP/1.1 200 "));
  for (const char* name : {"several", "gpu7"}) {
    const auto client = Open(name);
    client->Say(kAsk);
    EXPECT_THAT(client->ReceiveAll(),
                AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("you may not"), EndsWith("<closed>")));
  }
  EXPECT_EQ(server_->Counters().bad_requests, 2u);
  EXPECT_EQ(server_->Counters().requests, 1u);
  server_->Stop();
  EXPECT_THAT(heard, ElementsAre(ElementsAre("viewer1"),
                                 ElementsAre("a.example", "ip:192.0.2.7", "email:a@b.example"),
                                 ElementsAre("gpu7")));
}

TEST_F(HttpTlsTest, RefusesAnUnknownHostHeader) {
  Serve(Options());
  const auto client = Open();
  client->Say("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_THAT(client->ReceiveAll(), StartsWith("HTTP/1.1 421 "));
}

TEST_F(HttpTlsTest, ClosesConnectionsWithoutTls) {
  Serve(Options());
  const auto before = Open();
  ASSERT_TRUE(before->is_connected());
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), std::string(64, '\0'),
        std::string("\x16\x03\x01\x00\x05\x01\x00\x00\x01\xff", 10)}) {
    Socket garbage(server_->port());
    garbage.Say(text);
    EXPECT_TRUE(garbage.IsClosed());
  }
  WaitForBadHandshakes(3);
  EXPECT_THAT(before->Ask(), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(server_->Counters().open, 1u);
}

TEST_F(HttpTlsTest, StalledHandshakeTimesOut) {
  auto options = Options();
  options.timeout_seconds = 1;
  Serve(options);
  Socket silent(server_->port());
  Socket slow(server_->port());
  slow.Say(std::string("\x16\x03\x01\x02\x00\x01", 6));  // first bytes of a ClientHello
  EXPECT_TRUE(silent.IsClosed());
  EXPECT_TRUE(slow.IsClosed());
  WaitForBadHandshakes(2);
  EXPECT_THAT(Open()->Ask(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpTlsTest, StalledHandshakesDoNotLockOutOthers) {
  auto options = Options();
  options.connections = 2;
  Serve(options);
  std::vector<std::unique_ptr<Socket>> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(std::make_unique<Socket>(server_->port()));
  EXPECT_THAT(Open()->Ask(), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(silent.front()->IsClosed());
  EXPECT_LE(server_->Counters().open, 2u);
}

TEST_F(HttpTlsTest, StreamsAndStopsInTheMiddle) {
  Serve(Options());
  const auto client = Open();
  client->Say("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client->ReceiveUntil("more\nmore\n"), HasSubstr("\r\n\r\nfirst\nmore\n"));
  EXPECT_EQ(server_->Counters().streaming, 1u);
  server_->Stop();
  EXPECT_THAT(client->ReceiveAll(), EndsWith("<cut>"));
}

TEST_F(HttpTlsTest, LimitsTheStreamsOfACertificate) {
  auto options = Options();
  options.streams_a_peer = 1;
  Serve(options);
  certificates_.Sign("viewer2", "-addext subjectAltName=DNS:viewer2");
  const auto ask = [](TlsClient& client) {
    client.Say("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return client.ReceiveUntil("more");
  };
  const auto first = Open();
  EXPECT_THAT(ask(*first), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(*Open()), StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(ask(*Open("viewer2")), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpTlsTest, ANewRevocationListEndsStreams) {
  Serve(Options());
  const auto client = Open();
  client->Say("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client->ReceiveUntil("more"), StartsWith("HTTP/1.1 200 "));
  certificates_.Revoke("viewer1");
  TlsTexts changed = Options().tls;
  changed.crl = certificates_.Read("crl.pem");
  ASSERT_TRUE(server_->SetTls(changed));
  EXPECT_THAT(client->ReceiveAll(), EndsWith("<cut>"));
}

TEST_F(HttpTlsTest, NamesTheFileThatCannotBeUsed) {
  const auto problem = [](const HttpServer::Options& options) {
    const auto server = HttpServer::Open(options, Answer);
    return server ? "" : server.error().message;
  };
  auto options = Options();
  options.tls.key = certificates_.Read("viewer1.key");
  EXPECT_THAT(problem(options),
              AllOf(HasSubstr("the private key does not match the certificate in appliance.pem"),
                    HasSubstr("(key `http` of the configuration)")));
  options = Options();
  options.tls.certificate = "nonsense";
  EXPECT_THAT(problem(options), HasSubstr("appliance.pem: expected a certificate in PEM format"));
  options = Options();
  options.tls.peer_ca = "nonsense";
  EXPECT_THAT(problem(options), HasSubstr("ca.pem: expected a CA certificate in PEM format"));
}

TEST(HttpServer, RefusesOtherAddressesWithoutCertificates) {
  const auto server = HttpServer::Open({.address = IpAddress::FromV4(0)},
                                       [](const HttpRequest&) { return HttpResponse(); });
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, testing::HasSubstr("requires TLS certificates"));
}

}  // namespace
}  // namespace rocescope
