// SPDX-License-Identifier: BSD-3-Clause
// Derives bounds of clock offsets from minimum delays between clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rocescope {

// A packet was timestamped by clock `from` and later by clock `to`. Offset(to) - offset(from) is at
// most `ns`, because the delay was not negative.
struct DelayBound {
  uint32_t from = 0;
  uint32_t to = 0;
  int64_t ns = 0;
};

struct OffsetBounds {
  int64_t least = 0;
  int64_t most = 0;
};

// Returns the offset of each clock relative to `reference` by shortest paths, which gives the
// tightest bounds (Patt-Shamir, Rajsbaum: A theory of clock synchronization, STOC 1994). An element
// is unset if it is not bounded on both sides. Returns nullopt if the bounds contradict each other
// or overflow 64 bits.
std::optional<std::vector<std::optional<OffsetBounds>>> BoundOffsets(
    std::span<const DelayBound> bounds, uint32_t clocks, uint32_t reference);

// Returns the group of each clock. Clocks in a group bound each other in both directions, directly
// or through others (strongly connected components; Tarjan, 1972). Takes linear time in clocks and
// bounds.
std::vector<uint32_t> GroupsOf(std::span<const DelayBound> bounds, uint32_t clocks);

}  // namespace rocescope
