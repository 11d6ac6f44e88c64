// SPDX-License-Identifier: BSD-3-Clause
// Closes the connections to TCP ports of this process that flood it, because gRPC 1.51 cannot close
// the connections of a client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace rocescope {

class BusyConnections {
 public:
  // `ports`: local TCP ports.
  explicit BusyConnections(std::vector<uint16_t> ports) : ports_(std::move(ports)) {}

  // Notes how much each connection has received until now.
  void Sample();
  // Shuts down the connections that received most since the previous sample, until those that it
  // shut down received at least half of `flood` bytes. Returns their number.
  size_t Close(uint64_t flood);

 private:
  // Bytes that each connection has received, by file descriptor.
  std::map<int, uint64_t> Received() const;

  const std::vector<uint16_t> ports_;
  std::map<int, uint64_t> before_;
};

}  // namespace rocescope
