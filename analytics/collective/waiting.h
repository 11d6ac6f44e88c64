// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: whom the others wait for. Who enters a collective says so at once: it
// grants buffers to those that will send to it, or sends what it has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "analytics/collective/channel.h"
#include "analytics/collective/iterations.h"

namespace rocescope {

struct LateNic {
  uint32_t nic = 0;
  size_t first = 0;         // iteration that it was late for
  size_t last = 0;          // likewise, the last one
  uint32_t iterations = 0;  // late for
  double lateness = 0;      // stretches of the time line, the median
};

// What each NIC sends of its own accord over these channels (indices).
std::map<uint32_t, Bits> OwnActivity(const Channels& channels, std::span<const uint32_t> in_step);

// When each NIC sends or gets data over them.
std::map<uint32_t, Bits> BusyActivity(const Channels& channels, std::span<const uint32_t> in_step);

// Among NICs that are in step: who was late for most iterations in a row, by its own doing. Whose
// data of the step before came late begins the next one late too: it computed no longer than the
// others did.
std::optional<LateNic> FindLateNic(const std::map<uint32_t, Bits>& own,
                                   const std::map<uint32_t, Bits>& busy,
                                   const Iterations& iterations);

}  // namespace rocescope
