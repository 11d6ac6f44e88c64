// SPDX-License-Identifier: BSD-3-Clause
// Closes the connection to a TCP port of this process that receives most, because gRPC 1.51 cannot
// close the connections of a client.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace rocescope {

class BusiestConnection {
 public:
  // `ports`: local TCP ports.
  explicit BusiestConnection(std::vector<uint16_t> ports) : ports_(std::move(ports)) {}

  // Notes how much each connection has received until now.
  void Sample();
  // Shuts down the connection that received most bytes since the previous sample, if it received at
  // least `least`. Returns whether it shut one down.
  bool Close(uint64_t least);

 private:
  // Bytes that each connection has received, by file descriptor.
  std::map<int, uint64_t> Received() const;

  const std::vector<uint16_t> ports_;
  std::map<int, uint64_t> before_;
};

}  // namespace rocescope
