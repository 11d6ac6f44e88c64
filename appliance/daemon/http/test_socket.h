// SPDX-License-Identifier: BSD-3-Clause
// Test client: a plain TCP connection to a local server.
#ifndef ROCESCOPE_APPLIANCE_HTTP_TEST_SOCKET_H_
#define ROCESCOPE_APPLIANCE_HTTP_TEST_SOCKET_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace rocescope::test {

class Socket {
 public:
  // Connects from `own_address`. Each receive call waits at most 20 s.
  explicit Socket(uint16_t port, const char* own_address = "127.0.0.1")
      : number_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, own_address, &own.sin_addr), 1);
    EXPECT_EQ(bind(number_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval wait{.tv_sec = 20, .tv_usec = 0};
    setsockopt(number_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    EXPECT_EQ(connect(number_, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
  }
  ~Socket() { close(number_); }
  Socket(const Socket&) = delete;

  int number() const { return number_; }
  void Say(const std::string& text) { send(number_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Returns the received text up to `end`, or "<closed>" at its end if the peer closes the
  // connection.
  std::string ReceiveUntil(const std::string& end) {
    std::string heard;
    char some[4096];
    while (heard.find(end) == std::string::npos) {
      const ssize_t got = recv(number_, some, sizeof some, 0);
      if (got <= 0) return heard + "<closed>";
      heard.append(some, static_cast<size_t>(got));
    }
    return heard;
  }
  std::string ReceiveAll() { return ReceiveUntil("no text contains this"); }
  // Discards data until the peer closes the connection.
  bool IsClosed() {
    char some[4096];
    ssize_t got = 1;
    while (got > 0) got = recv(number_, some, sizeof some, 0);
    return got == 0 || errno == ECONNRESET;
  }

 private:
  int number_;
};

}  // namespace rocescope::test

#endif  // ROCESCOPE_APPLIANCE_HTTP_TEST_SOCKET_H_
