// SPDX-License-Identifier: BSD-3-Clause
// Virtual devices made while EAL runs: a capture as a port, and what tests need.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace rocescope {

class VirtualDevice {
 public:
  // Plugs in device `name` ("net_pcap0"; the driver is what precedes the number) with `arguments`
  // ("rx_pcap=FILE"), which must not have a comma inside a value. The error has what DPDK said.
  static Result<std::unique_ptr<VirtualDevice>> Plug(const std::string& name,
                                                     const std::string& arguments);

  // Unplugs it; its Port must be gone.
  ~VirtualDevice();
  VirtualDevice(const VirtualDevice&) = delete;
  VirtualDevice& operator=(const VirtualDevice&) = delete;

  uint16_t port() const { return port_; }

 private:
  VirtualDevice(std::string name, uint16_t port) : name_(std::move(name)), port_(port) {}

  std::string name_;
  uint16_t port_;
};

}  // namespace rocescope
