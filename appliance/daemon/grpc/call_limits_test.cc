// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/call_limits.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

TEST(CallLimitsTest, CallsThatWaitAreLimited) {
  std::atomic<uint64_t> refused = 0;
  CallLimits limits({.max_waiting = 2}, refused);
  EXPECT_THAT(limits.Wait("a"), IsEmpty());
  EXPECT_THAT(limits.Wait("b"), IsEmpty());
  EXPECT_THAT(limits.Wait("c"), HasSubstr("2 calls of all clients are waiting"));
  limits.Begin("a");
  EXPECT_THAT(limits.Wait("c"), IsEmpty());
}

TEST(CallLimitsTest, CallsOfOneCertificateThatWaitAreLimited) {
  std::atomic<uint64_t> refused = 0;
  CallLimits limits({.max_waiting_of_client = 2}, refused);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(limits.Wait("a"), IsEmpty());
  EXPECT_THAT(limits.Wait("a"), HasSubstr("2 calls of the client are waiting"));
  EXPECT_THAT(limits.Wait("b"), IsEmpty());
  limits.Begin("a");
  EXPECT_THAT(limits.Wait("a"), IsEmpty());
  EXPECT_EQ(refused, 1u);
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

// An HTTP/2 client (RFC 9113) that sends what gRPC's own clients do not send.
class RawClient {
 public:
  static constexpr uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kWindowUpdate = 8;
  static constexpr uint8_t kAck = 1, kEndStream = 1, kEndHeaders = 4;

  // `window`: bytes of a response that the server may send.
  RawClient(const ListenAddress& server, uint16_t window) : socket_(ConnectTo(server)) {
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    // SETTINGS_INITIAL_WINDOW_SIZE
    SendFrame(kSettings, 0, 0, std::string("\0\4\0\0", 4) + BigEndian(window, 2));
  }
  ~RawClient() { close(socket_); }
  RawClient(const RawClient&) = delete;

  void Begin(uint32_t stream) {
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
    SendFrame(kHeaders, kEndHeaders, stream, fields);
  }
  void SendFrame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
    Send(BigEndian(static_cast<uint32_t>(payload.size()), 3) + static_cast<char>(type) +
         static_cast<char>(flags) + BigEndian(stream, 4) + payload);
  }

  struct Frame {
    uint8_t type = 0;
    uint8_t flags = 0;
    uint32_t stream = 0;
    std::string payload;
  };
  // Waits for a frame; unset: the server has closed the connection, or nothing comes for 20 s.
  std::optional<Frame> Receive() {
    const std::string head = ReceiveBytes(9);
    if (head.size() < 9) return std::nullopt;
    return Frame{.type = static_cast<uint8_t>(head[3]),
                 .flags = static_cast<uint8_t>(head[4]),
                 .stream = NumberIn(head.substr(5)),
                 .payload = ReceiveBytes(NumberIn(head.substr(0, 3)))};
  }

  static uint32_t NumberIn(std::string_view bytes) {
    uint32_t number = 0;
    for (const char one : bytes) number = number << 8 | static_cast<uint8_t>(one);
    return number;
  }
  static std::string BigEndian(uint32_t number, size_t size) {
    std::string bytes(size, '\0');
    for (size_t i = size; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number);
    return bytes;
  }

 private:
  void Send(std::string_view bytes) {
    ASSERT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string ReceiveBytes(size_t size) {
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
  RawClient client(server_->listens().at(0), 0);
  client.Begin(1);
  client.SendFrame(RawClient::kData, RawClient::kEndStream, 1, std::string(5, '\0'));  // no fields
  std::optional<RawClient::Frame> frame;
  do {
    frame = client.Receive();
    ASSERT_TRUE(frame);
  } while (frame->type != RawClient::kReset);
  EXPECT_EQ(service_->refusals().grpc, 1u);
}

// Opens calls that announce a request of a mebibyte, and sends all but its end, as the server
// permits. Returns whether the server resets a call before 20 s pass without a frame.
bool AreIncompleteRequestsReset(const ListenAddress& server, uint32_t calls) {
  constexpr uint32_t kRequest = (1 << 20) - 64;
  constexpr uint32_t kLargestFrame = 16'384;
  RawClient client(server, 65'535);
  struct Window {
    int64_t open = 65'535;
    uint32_t left = kRequest - 1;
  };
  std::map<uint32_t, Window> windows;
  int64_t connection = 65'535;
  for (uint32_t stream = 1; stream < 2 * calls; stream += 2) {
    client.Begin(stream);
    client.SendFrame(RawClient::kData, 0, stream, '\0' + RawClient::BigEndian(kRequest, 4));
    windows[stream].open -= 5;
    connection -= 5;
  }
  while (true) {
    for (auto& [stream, window] : windows) {
      while (true) {
        const int64_t size =
            std::min({connection, window.open, int64_t{window.left}, int64_t{kLargestFrame}});
        if (size <= 0) break;
        client.SendFrame(RawClient::kData, 0, stream, std::string(static_cast<size_t>(size), 'x'));
        connection -= size;
        window.open -= size;
        window.left -= static_cast<uint32_t>(size);
      }
    }
    const auto frame = client.Receive();
    if (!frame) return false;
    if (frame->type == RawClient::kReset) return true;
    if (frame->type == RawClient::kSettings && (frame->flags & RawClient::kAck) == 0) {
      client.SendFrame(RawClient::kSettings, RawClient::kAck, 0, "");
    }
    if (frame->type == RawClient::kWindowUpdate) {
      (frame->stream == 0 ? connection : windows[frame->stream].open) +=
          RawClient::NumberIn(frame->payload);
    }
  }
}

TEST_F(GrpcTest, MemoryOfIncompleteRequestsIsLimited) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}}, {.memory = size_t{8} << 20});
  EXPECT_TRUE(AreIncompleteRequestsReset(server_->listens().at(0), 64));
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

// Unary calls and streams of agents stop waiting when they begin, so that more of them than the
// limit can follow each other.
TEST_F(TlsTest, CallsThatBeginDoNotWait) {
  OpenDaemon("");
  MakeCertificates({"all1"});
  GrpcConfig config = Config();
  config.operators = {"all1"};
  Serve(config, {.calls = {.max_waiting_of_client = 2}});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Health("all1"), grpc::StatusCode::OK);
    EXPECT_NE(Report("all1", "host0").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
}

TEST_F(TlsTest, RefusedClientsDoNotWait) {
  OpenDaemon("");
  MakeCertificates({"eve", "agent7", "viewer1"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1"};
  config.agents = {"agent7"};
  Serve(config, {.calls = {.max_waiting = 1}});
  EXPECT_EQ(Sources("eve"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Sources("agent7"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Sources("viewer1"), grpc::StatusCode::OK);
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
  grpc::ClientContext context;
  v1::ListSourcesResponse sources;
  EXPECT_EQ(v1::Appliance::NewStub(Open())->ListSources(&context, {}, &sources).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
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

// Calls of ListRegisteredJobs whose responses are not read. The flow control of HTTP/2 stops the
// server after 64 KiB.
class UnreadCalls {
 public:
  // Arguments of channels whose flow control does not permit more after a while.
  static grpc::ChannelArguments Arguments() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return arguments;
  }
  ~UnreadCalls() {
    for (const auto& call : calls_) call->context.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  // Returns when the server begins to send the response.
  void Begin(const std::shared_ptr<grpc::Channel>& channel) {
    Call& call = *calls_.emplace_back(std::make_unique<Call>());
    call.stream = grpc::GenericStub(channel).PrepareCall(
        &call.context, "/rocescope.v1.Jobs/ListRegisteredJobs", &queue_);
    call.stream->StartCall(&call);
    Await();
    grpc::Slice no_fields;
    call.stream->WriteLast(grpc::ByteBuffer(&no_fields, 1), {}, &call);
    Await();
    call.stream->ReadInitialMetadata(&call);
    Await();
  }

 private:
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  };
  void Await() {
    void* tag = nullptr;
    bool ok = false;
    const auto late = std::chrono::system_clock::now() + std::chrono::seconds(20);
    ASSERT_EQ(queue_.AsyncNext(&tag, &ok, late), grpc::CompletionQueue::GOT_EVENT);
    ASSERT_TRUE(ok);
  }

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Call>> calls_;
};

grpc::Status ListRegisteredJobs(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::ListRegisteredJobsResponse jobs;
  return v1::Jobs::NewStub(channel)->ListRegisteredJobs(&context, {}, &jobs);
}

TEST_F(GrpcTest, MemoryOfUnreadResponsesIsLimited) {
  OpenDaemon("");
  RegisterLargeJob();
  Serve({.listen = {kAnyPort}}, {.calls = {.max_bytes = uint64_t{4} << 20}});
  {
    UnreadCalls unread;
    unread.Begin(OpenAnother(UnreadCalls::Arguments()));
    const grpc::Status refused = ListRegisteredJobs(Open());
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(refused.error_message(), HasSubstr("of all clients would take more than 4M"));
    EXPECT_EQ(service_->refusals().grpc, 1u);
    grpc::ClientContext context;
    v1::Health health;
    EXPECT_TRUE(v1::Appliance::NewStub(Open())->GetHealth(&context, {}, &health).ok())
        << "small responses are not refused";
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!ListRegisteredJobs(Open()).ok()) ASSERT_LT(std::chrono::steady_clock::now(), end);
}

TEST_F(GrpcTest, AResponseLargerThanTheLimitIsSentIfNoOtherCallIsOpen) {
  OpenDaemon("");
  RegisterLargeJob();
  Serve({.listen = {kAnyPort}}, {.calls = {.max_bytes = 100'000}});
  EXPECT_TRUE(ListRegisteredJobs(Open()).ok());
}

TEST_F(GrpcTest, MemoryOfRequestsIsLimited) {
  OpenDaemon("");
  RegisterLargeJob();
  Serve({.listen = {kAnyPort}}, {.calls = {.max_bytes = uint64_t{4} << 20}});
  UnreadCalls unread;
  unread.Begin(OpenAnother(UnreadCalls::Arguments()));
  grpc::ClientContext context;
  v1::RegisterJobRequest request;
  for (int i = 0; i < 100'000; ++i) request.add_nodes();  // 200 kB, and many times that in memory
  v1::RegisterJobResponse response;
  EXPECT_EQ(v1::Jobs::NewStub(Open())->RegisterJob(&context, request, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(TlsTest, UnreadResponsesOfOneCertificateDoNotLockOutOthers) {
  OpenDaemon("");
  RegisterLargeJob();
  MakeCertificates({"viewer1", "viewer2"});
  GrpcConfig config = Config();
  config.viewers = {"viewer1", "viewer2"};
  Serve(config, {.calls = {.max_bytes = uint64_t{16} << 20}});
  UnreadCalls unread;
  unread.Begin(OpenAs("viewer1", UnreadCalls::Arguments()));
  const grpc::Status refused = ListRegisteredJobs(OpenAs("viewer1"));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("of this client would take more than 4M"));
  EXPECT_TRUE(ListRegisteredJobs(OpenAs("viewer2")).ok());
}

TEST_F(GrpcTest, CallsWaitForAHandlerUntilTheyAreCancelled) {
  OpenDaemon("");
  Serve({.listen = {kAnyPort}}, {.calls = {.max_readers = 0, .timeout = std::chrono::seconds(2)}});
  grpc::ClientContext context;
  v1::Health health;
  EXPECT_EQ(v1::Appliance::NewStub(Open())->GetHealth(&context, {}, &health).error_code(),
            grpc::StatusCode::CANCELLED);
  grpc::ClientContext other;
  v1::EndJobResponse ended;
  EXPECT_EQ(v1::Jobs::NewStub(Open())->EndJob(&other, {}, &ended).error_code(),
            grpc::StatusCode::NOT_FOUND)
      << "calls that end jobs do not wait for those that read";
}

}  // namespace
}  // namespace rocescope
