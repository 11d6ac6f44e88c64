// SPDX-License-Identifier: BSD-3-Clause
// Number of frames that a NIC counted on the wire, whatever happened to them.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocescope {

// From the driver's extended statistics; 0 if none of them counts frames on the wire.
uint64_t HardwareCount(uint16_t port);

// True if the extended statistic with that name counts frames on the wire.
bool CountsFramesOnWire(std::string_view name);

}  // namespace rocescope
