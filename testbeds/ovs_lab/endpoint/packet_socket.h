// SPDX-License-Identifier: BSD-3-Clause
// A network interface, through a packet socket (man 7 packet).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "testbeds/ovs_lab/endpoint/nic.h"
#include "testbeds/ovs_lab/endpoint/reports.h"

namespace rocescope::endpoint {

// The error of the last system call (errno). kPermissionDenied or kUnavailable.
Status SystemFailure(const std::string& what);

// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  int number() const { return number_; }

 private:
  int number_;
};

class PacketSocket final : public FrameSink {
 public:
  // The interface must carry IP packets of `ip_packet_bytes`. kNotFound: there is no such
  // interface; kPermissionDenied: CAP_NET_RAW is missing; kInvalidArgument: its MTU is too small.
  static Result<std::unique_ptr<PacketSocket>> Open(const std::string& interface,
                                                    uint32_t ip_packet_bytes);

  bool Send(std::span<const uint8_t> frame) override;
  // Passes frames that have arrived to `receive`, at most kMostAtOnce. The caller calls it again
  // while the descriptor is readable.
  static constexpr size_t kMostAtOnce = 1024;
  void Receive(const std::function<void(std::span<const uint8_t>)>& receive);
  // Frames that were dropped because the receive buffer was full, since the last call.
  uint64_t TakeDrops();

  // Whether the interface is enabled and has a carrier.
  bool IsUp() const;

  int descriptor() const { return socket_.number(); }
  const std::string& interface() const { return interface_; }

 private:
  PacketSocket(std::string interface, Descriptor socket);

  const std::string interface_;
  const Descriptor socket_;
  std::vector<uint8_t> buffers_;
};

// Binds UDP port 4791 without ever reading from it. The kernel then sends no ICMP messages about an
// unreachable port for the received packets.
Result<Descriptor> OccupyRocePort();

// Reads /proc/net/dev of the network namespace. All counters are 0 if the interface does not exist.
InterfaceCounters ReadInterfaceCounters(const std::string& interface);

}  // namespace rocescope::endpoint
