// SPDX-License-Identifier: BSD-3-Clause
// Datagrams from the kernel's UDP sockets, many at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "dataplane/decode/frame.h"

namespace rocescope {

struct UdpAddress {
  IpAddress address;  // 0.0.0.0 or ::, each for its own family: all of this machine's
  uint16_t port = 0;  // 0: one that the system chooses
};

class UdpReceiver {
 public:
  struct Options {
    std::vector<UdpAddress> addresses;
    // Bytes of each socket's buffer in the kernel, as far as net.core.rmem_max lets it be.
    uint64_t buffer = uint64_t{16} << 20;
  };
  static constexpr size_t kBatch = 64;  // datagrams at a time
  // Longer ones are cut: more than any exporter sends, and than a jumbo frame holds.
  static constexpr size_t kLongest = 9216;

  // The error names the address that cannot be listened on, and why.
  static Result<std::unique_ptr<UdpReceiver>> Open(const Options& options);
  ~UdpReceiver();

  // At most kBatch datagrams of one socket, the sockets in turn: what UDP carried, `tap` the number
  // of its socket, times of arrival by the kernel's clock. They stay until the next call. None if
  // there are none for so long.
  std::span<RawFrame> Receive(std::chrono::milliseconds wait);

  // That the kernel had no room for, on all sockets; as of the last datagram that came.
  uint64_t missed() const;

  size_t sockets() const;
  // With the port that the system chose.
  UdpAddress AddressOf(size_t socket) const;
  // What the kernel made of Options::buffer.
  uint64_t BufferOf(size_t socket) const;

 private:
  struct Sockets;
  explicit UdpReceiver(std::unique_ptr<Sockets> sockets);

  std::unique_ptr<Sockets> sockets_;
};

}  // namespace rocescope
