// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/call_limits.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/daemon/grpc/grpc_fixture.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(CallLimitsTest, EachClientHasItsOwnRate) {
  std::atomic<uint64_t> refused = 0;
  CallLimits limits({.per_second = 0, .burst = 3}, refused);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(limits.Admit("a"), IsEmpty()) << i;
  EXPECT_THAT(limits.Admit("a"), HasSubstr("more than 0 calls per second"));
  EXPECT_THAT(limits.Admit("b"), IsEmpty());
  EXPECT_EQ(refused, 1u);
}

TEST(CallLimitsTest, ClientsWithoutCertificatesShareARate) {
  std::atomic<uint64_t> refused = 0;
  CallLimits limits({.per_second = 0, .burst = 0, .shared_per_second = 2}, refused);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(limits.Admit(""), IsEmpty()) << i;
  EXPECT_THAT(limits.Admit(""), HasSubstr("more than 2 calls per second of all clients"));
}

TEST(CallLimitsTest, BucketFillsAgain) {
  std::atomic<uint64_t> refused = 0;
  CallLimits limits({.per_second = 100, .burst = 1}, refused);
  EXPECT_THAT(limits.Admit("a"), IsEmpty());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!limits.Admit("a").empty()) ASSERT_LT(std::chrono::steady_clock::now(), end);
}

TEST(CallLimitsTest, ManyClientsAreForgottenOnlyWithAFullBucket) {
  std::atomic<uint64_t> refused = 0;
  CallLimits limits({.per_second = 0, .burst = 1}, refused);
  EXPECT_THAT(limits.Admit("a"), IsEmpty());
  for (int i = 0; i < 3000; ++i) EXPECT_THAT(limits.Admit(std::to_string(i)), IsEmpty());
  EXPECT_FALSE(limits.Admit("a").empty());
}

// An HTTP/2 client that permits no data in responses.
class UnreadingClient {
 public:
  explicit UnreadingClient(const ListenAddress& server) : socket_(ConnectTo(server)) {
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // SETTINGS_INITIAL_WINDOW_SIZE = 0 (RFC 9113, 6.5.2).
    SendFrame(kSettings, 0, 0, std::string("\0\4\0\0\0\0", 6));
  }
  ~UnreadingClient() { close(socket_); }
  UnreadingClient(const UnreadingClient&) = delete;

  void CallHealth() {
    std::string fields;
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {":method", "POST"},
             {":scheme", "http"},
             {":path", "/rocescope.v1.Appliance/GetHealth"},
             {":authority", "appliance"},
             {"content-type", "application/grpc"},
             {"te", "trailers"}}) {
      // A literal field without indexing (RFC 7541, 6.2.2).
      fields += '\0';
      fields += static_cast<char>(name.size()) + name;
      fields += static_cast<char>(value.size()) + value;
    }
    SendFrame(kHeaders, kEndHeaders, 1, fields);
    SendFrame(kData, kEndStream, 1, std::string(5, '\0'));  // an empty message
  }

  // Waits until the server resets the stream.
  bool IsReset() {
    while (true) {
      const std::string head = Receive(9);
      if (head.size() < 9) return false;
      const auto byte = [&](size_t i) { return static_cast<uint8_t>(head[i]); };
      Receive(size_t{byte(0)} << 16 | size_t{byte(1)} << 8 | byte(2));
      if (byte(3) == kReset) return true;
    }
  }

 private:
  static constexpr uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4;
  static constexpr uint8_t kEndStream = 1, kEndHeaders = 4;

  void Send(std::string_view bytes) {
    ASSERT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void SendFrame(uint8_t type, uint8_t flags, uint8_t stream, const std::string& payload) {
    std::string frame{'\0',
                      static_cast<char>(payload.size() >> 8),
                      static_cast<char>(payload.size()),
                      static_cast<char>(type),
                      static_cast<char>(flags),
                      '\0',
                      '\0',
                      '\0',
                      static_cast<char>(stream)};
    Send(frame + payload);
  }
  std::string Receive(size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = size == 0 ? 0 : recv(socket_, bytes.data(), size, MSG_WAITALL);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }

  const int socket_;
};

TEST_F(GrpcTest, CallWhoseResponseIsNotReadEnds) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}}, {.calls = {.timeout = std::chrono::milliseconds(500)}});
  UnreadingClient client(server_->listens().at(0));
  client.CallHealth();
  EXPECT_TRUE(client.IsReset());
  EXPECT_EQ(service_->refusals().grpc, 1u);
}

TEST_F(GrpcTest, CompressedRequestsAreRefused) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}});
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    v1::RegisterJobRequest job;
    job.set_user(std::string(900'000, 'x'));
    v1::RegisterJobResponse registered;
    EXPECT_EQ(v1::Jobs::NewStub(Open())->RegisterJob(&context, job, &registered).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
}

TEST_F(TlsTest, CallsAtTheSameTimeAreLimited) {
  OpenDaemon("");
  MakeCertificates({"viewer1"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  Serve(config, {.calls = {.max_open = 0}});
  EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(service_->refusals().grpc, 1u);
}

// Calls until the server closes the connection.
bool IsClosedWhileCalling(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::Appliance::NewStub(channel);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    grpc::ClientContext context;
    v1::ListSourcesResponse sources;
    const grpc::Status status = stub->ListSources(&context, {}, &sources);
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
        channel->GetState(false) != GRPC_CHANNEL_READY) {
      return true;
    }
  }
  return false;
}

// A connection whose calls are all refused, far more of them than the threshold.
TEST_F(TlsTest, FloodingConnectionIsClosed) {
  OpenDaemon("");
  MakeCertificates({"viewer1"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  Serve(config, {.calls = {.per_second = 0, .burst = 0, .flood_threshold = 0}});
  EXPECT_TRUE(IsClosedWhileCalling(OpenAs("viewer1")));
}

TEST_F(GrpcTest, FloodingConnectionWithoutCertificatesIsClosed) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}}, {.calls = {.shared_per_second = 0, .flood_threshold = 0}});
  EXPECT_TRUE(IsClosedWhileCalling(Open()));
}

TEST_F(TlsTest, FastCallsOfOneCertificateAreRefused) {
  OpenDaemon("");
  MakeCertificates({"viewer1", "viewer2"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1", "viewer2"};
  Serve(config, {.calls = {.per_second = 0, .burst = 3}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::OK) << i;
  EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_GT(service_->refusals().grpc, 0u);
  EXPECT_EQ(Sources("viewer2"), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace rocescope
