// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: finds the straggler that the others wait for. A member that enters a
// collective immediately grants buffers to its senders or sends its own data.
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
  size_t first = 0;         // first iteration for which it was late
  size_t last = 0;          // last iteration for which it was late
  uint32_t iterations = 0;  // number of iterations for which it was late
  double lateness = 0;      // median, in slots of the time line
};

// Returns what each NIC sends over these channels (indices) without waiting for others.
std::map<uint32_t, Bits> OwnActivity(const Channels& channels, std::span<const uint32_t> in_step);

// Returns when each NIC sends or receives data over these channels.
std::map<uint32_t, Bits> BusyActivity(const Channels& channels, std::span<const uint32_t> in_step);

// Returns the NIC of a synchronised group that was late on its own for most consecutive iterations.
// A NIC that started late because its input arrived late is excluded, because it did not compute
// longer than the others.
std::optional<LateNic> FindLateNic(const std::map<uint32_t, Bits>& own,
                                   const std::map<uint32_t, Bits>& busy,
                                   const Iterations& iterations);

}  // namespace rocescope
