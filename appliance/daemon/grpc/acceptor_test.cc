// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/acceptor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "appliance/daemon/grpc/grpc_fixture.h"

namespace rocescope {
namespace {

// UBSan opens a pipe to check the type of an object, and reports an error if it cannot.
#if defined(__has_feature)
constexpr bool kNeedsDescriptors =
    __has_feature(undefined_behavior_sanitizer) || __has_feature(address_sanitizer);
#else
constexpr bool kNeedsDescriptors = false;
#endif

// Lowers the limit of open files for the duration of a test.
class LowLimit {
 public:
  explicit LowLimit(rlim_t limit) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower = {.rlim_cur = limit, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~LowLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Opens /dev/null until no file descriptor is left.
std::vector<int> UseAllDescriptors() {
  std::vector<int> used;
  for (int one = open("/dev/null", O_RDONLY); one >= 0; one = open("/dev/null", O_RDONLY)) {
    used.push_back(one);
  }
  EXPECT_EQ(errno, EMFILE);
  return used;
}

template <typename Check>
bool Within(std::chrono::seconds time, Check check) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!check()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TEST(AcceptorTest, AcceptsAgainAfterDescriptorsRanOut) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the undefined behaviour sanitizer needs file descriptors";
  std::atomic<uint64_t> refused = 0;
  std::atomic<int> accepted = 0;
  auto acceptor = Acceptor::Listen(kAnyPort, refused);
  ASSERT_TRUE(acceptor) << acceptor.error().message;
  const LowLimit limit(128);
  const int before = ConnectTo((*acceptor)->where());
  std::vector<int> used = UseAllDescriptors();
  (*acceptor)->Start([&](int socket) {
    close(socket);
    ++accepted;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(accepted, 0) << "the accept cannot succeed";
  for (const int one : used) close(one);
  EXPECT_TRUE(Within(std::chrono::seconds(20), [&] { return accepted == 1; }));
  close(before);
}

TEST(AcceptorTest, KeepsDescriptorsForOthers) {
  EXPECT_EQ(ReservedDescriptors(64), 16u);
  EXPECT_EQ(ReservedDescriptors(1'000'000), 256u);
  std::atomic<uint64_t> refused = 0;
  std::atomic<int> accepted = 0;
  auto acceptor = Acceptor::Listen(kAnyPort, refused);
  ASSERT_TRUE(acceptor);
  const LowLimit limit(128);
  std::vector<int> used = UseAllDescriptors();
  for (int i = 0; i < 10; ++i) {  // fewer than the reserve
    close(used.back());
    used.pop_back();
  }
  (*acceptor)->Start([&](int socket) {
    close(socket);
    ++accepted;
  });
  const int connection = ConnectTo((*acceptor)->where());
  EXPECT_TRUE(Within(std::chrono::seconds(20), [&] { return refused == 1; }));
  EXPECT_EQ(accepted, 0);
  close(connection);
  for (const int one : used) close(one);
}

TEST(AcceptorTest, PortInUseIsAnError) {
  std::atomic<uint64_t> refused = 0;
  const auto first = Acceptor::Listen(kAnyPort, refused);
  ASSERT_TRUE(first);
  const auto second = Acceptor::Listen((*first)->where(), refused);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "Address already in use");
}

// The listener of gRPC itself did not survive this.
TEST_F(GrpcTest, AnswersAgainAfterDescriptorsRanOut) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the undefined behaviour sanitizer needs file descriptors";
  OpenDaemon("");
  Serve({.listen = {kAnyPort}});
  const auto healthy = [&] {
    const auto stub = v1::Appliance::NewStub(OpenAnother());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    v1::Health health;
    return stub->GetHealth(&context, {}, &health).ok();
  };
  ASSERT_TRUE(Within(std::chrono::seconds(30), healthy));
  {
    const LowLimit limit(256);
    const int waiting = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    std::vector<int> used = UseAllDescriptors();
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(server_->listens().at(0).port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(waiting, reinterpret_cast<const sockaddr*>(&where), sizeof where);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (const int one : used) close(one);
    close(waiting);
  }
  EXPECT_TRUE(Within(std::chrono::seconds(30), healthy));
}

}  // namespace
}  // namespace rocescope
