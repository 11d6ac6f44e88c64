// SPDX-License-Identifier: BSD-3-Clause
// Sizes and times as scenarios write them. Independent of the simulator.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "sim/engine/time.h"

namespace rocescope::sim {

// "512K", "64M", "1G" (powers of 1024), or plain bytes.
Result<uint64_t> ParseSize(std::string_view text);

// For example "10ms" or "2h", up to 31 d. Returns picoseconds.
Result<SimTime> ParseSimTime(std::string_view text);

}  // namespace rocescope::sim
