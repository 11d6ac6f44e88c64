// SPDX-License-Identifier: BSD-3-Clause
// Receives datagrams from UDP sockets in batches.
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
  IpAddress address;  // 0.0.0.0 or ::, each for its own family: all addresses of this machine
  uint16_t port = 0;  // 0: chosen by the kernel
};

class UdpReceiver {
 public:
  struct Options {
    std::vector<UdpAddress> addresses;
    // Size of each socket's receive buffer in bytes, limited by net.core.rmem_max.
    uint64_t buffer = uint64_t{16} << 20;
  };
  static constexpr size_t kBatch = 64;  // datagrams per call
  // Longer datagrams are truncated. No exporter sends longer ones, and no jumbo frame holds more.
  static constexpr size_t kLongest = 9216;

  // The error names the address and the cause.
  static Result<std::unique_ptr<UdpReceiver>> Open(const Options& options);
  ~UdpReceiver();

  // Returns at most kBatch datagrams of one socket, taking the sockets in turn. Each is a UDP
  // payload; `tap` is the number of its socket, and the timestamp is the kernel's time of arrival.
  // They are valid until the next call. Returns none if nothing arrives within `wait`.
  std::span<RawFrame> Receive(std::chrono::milliseconds wait);
  // The source address of each datagram that the last call of Receive returned.
  std::span<const IpAddress> sources() const;

  // Datagrams that the kernel dropped on all sockets because the buffer was full, as reported with
  // the last datagram.
  uint64_t missed() const;

  size_t sockets() const;
  // Contains the actual port if the kernel chose it.
  UdpAddress AddressOf(size_t socket) const;
  // The actual buffer size after Options::buffer was applied.
  uint64_t BufferOf(size_t socket) const;

 private:
  struct Sockets;
  explicit UdpReceiver(std::unique_ptr<Sockets> sockets);

  std::unique_ptr<Sockets> sockets_;
};

}  // namespace rocescope
