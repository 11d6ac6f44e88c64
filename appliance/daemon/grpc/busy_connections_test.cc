// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/busy_connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace rocescope {
namespace {

// A server on loopback with two connections.
class BusyConnectionsTest : public testing::Test {
 protected:
  BusyConnectionsTest() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_, 2), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(connect(client_[i], reinterpret_cast<sockaddr*>(&address), length), 0);
      server_[i] = accept(listener_, nullptr, nullptr);
    }
  }
  ~BusyConnectionsTest() override {
    close(listener_);
    for (size_t i = 0; i < 2; ++i) {
      close(client_[i]);
      close(server_[i]);
    }
  }
  void Send(size_t client, size_t bytes) const {
    const std::string text(bytes, 'x');
    ASSERT_EQ(send(client_[client], text.data(), bytes, 0), static_cast<ssize_t>(bytes));
    std::string received(bytes, ' ');
    ASSERT_EQ(recv(server_[client], received.data(), bytes, MSG_WAITALL),
              static_cast<ssize_t>(bytes));
  }
  // Whether the server ends the connection within this time.
  bool IsClosed(size_t client, int milliseconds = 0) const {
    pollfd event = {.fd = client_[client], .events = POLLIN, .revents = 0};
    return poll(&event, 1, milliseconds) == 1;
  }

  const int listener_ = socket(AF_INET, SOCK_STREAM, 0);
  const int client_[2] = {socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0)};
  int server_[2] = {-1, -1};
  uint16_t port_ = 0;
};

TEST_F(BusyConnectionsTest, ClosesTheOneThatSentMostSinceTheSample) {
  BusyConnections connections({port_});
  Send(0, 50'000);
  connections.Sample();
  Send(0, 1'000);
  Send(1, 20'000);
  EXPECT_EQ(connections.Close(21'000), 1u);
  EXPECT_FALSE(IsClosed(0));
  EXPECT_TRUE(IsClosed(1, 20'000));
}

TEST_F(BusyConnectionsTest, ClosesAsManyAsSendHalfOfAFlood) {
  BusyConnections connections({port_});
  connections.Sample();
  Send(0, 15'000);
  Send(1, 20'000);
  EXPECT_EQ(connections.Close(60'000), 2u);
}

TEST_F(BusyConnectionsTest, IgnoresOtherPorts) {
  BusyConnections connections({static_cast<uint16_t>(port_ + 1)});
  connections.Sample();
  Send(0, 20'000);
  EXPECT_EQ(connections.Close(1), 0u);
  EXPECT_FALSE(IsClosed(0));
}

}  // namespace
}  // namespace rocescope
