// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/addressing.h"

namespace rocescope::sim {

IpAddress AddressOf(const topology::Fabric& fabric, topology::NicIndex nic) {
  const auto& addresses = fabric.nic(nic).addresses;
  constexpr uint32_t kUnnamed = 0x0afe'0000;
  return addresses.empty() ? IpAddress::FromV4(kUnnamed + nic) : addresses[0].address;
}

}  // namespace rocescope::sim
