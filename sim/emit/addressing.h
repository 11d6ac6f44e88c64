// SPDX-License-Identifier: BSD-3-Clause
// Addresses and code points that packets of a NIC have. Independent of the simulated network, so
// that other writers of packets and logs can use it.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// Returns the first address of a NIC. A NIC without an address gets 10.254.0.0 plus its index.
IpAddress AddressOf(const topology::Fabric& fabric, topology::NicIndex nic);

// The DSCP of a priority as lossless fabrics map it: 26 for priority 3, 48 for priority 6.
constexpr uint8_t DscpOf(uint32_t priority) {
  return static_cast<uint8_t>(priority << 3 | (priority == 3 ? 2 : 0));
}

}  // namespace rocescope::sim
