// SPDX-License-Identifier: BSD-3-Clause
// How many frames a NIC saw on its wire, whatever became of them.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocescope {

// From the driver's extended statistics; 0 where it has none that says so.
uint64_t HardwareCount(uint16_t port);

// Whether an extended statistic of that name counts frames on the wire.
bool CountsFramesOnWire(std::string_view name);

}  // namespace rocescope
