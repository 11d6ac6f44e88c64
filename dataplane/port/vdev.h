// SPDX-License-Identifier: BSD-3-Clause
// Virtual devices that are created while EAL runs: captures as ports, and devices for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace rocescope {

class VirtualDevice {
 public:
  // Creates device `name` ("net_pcap0": the driver followed by a number) with `arguments`
  // ("rx_pcap=FILE"), whose values must not contain commas. The error contains DPDK's message.
  static Result<std::unique_ptr<VirtualDevice>> Plug(const std::string& name,
                                                     const std::string& arguments);

  // Removes the device. Its Port must have been destroyed.
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
