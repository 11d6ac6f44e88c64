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
  // Shuts the connection down that has received most since the previous sample, if these are at
  // least `least` bytes. Returns whether there was one.
  bool Close(uint64_t least);

 private:
  // Bytes that each connection has received, by file descriptor.
  std::map<int, uint64_t> Received() const;

  const std::vector<uint16_t> ports_;
  std::map<int, uint64_t> before_;
};

}  // namespace rocescope
