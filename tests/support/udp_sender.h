// SPDX-License-Identifier: BSD-3-Clause
// Sends datagrams to a port of 127.0.0.1.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <span>

namespace rocescope::test {

class UdpSender {
 public:
  explicit UdpSender(uint16_t port) : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    to_.sin_family = AF_INET;
    to_.sin_port = htons(port);
    to_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  ~UdpSender() { close(socket_); }
  UdpSender(const UdpSender&) = delete;
  UdpSender& operator=(const UdpSender&) = delete;

  // Returns false if the kernel did not accept the complete datagram.
  bool Send(std::span<const uint8_t> bytes) {
    return sendto(socket_, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to_),
                  sizeof to_) == static_cast<ssize_t>(bytes.size());
  }

 private:
  const int socket_;
  sockaddr_in to_{};
};

}  // namespace rocescope::test
