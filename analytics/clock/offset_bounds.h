// SPDX-License-Identifier: BSD-3-Clause
// From least delays between clocks to what their offsets can be.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rocescope {

// A packet left clock `from` and came to clock `to` not earlier: to's offset less from's is at most
// `ns`, since it took no time below zero.
struct DelayBound {
  uint32_t from = 0;
  uint32_t to = 0;
  int64_t ns = 0;
};

struct OffsetBounds {
  int64_t least = 0;
  int64_t most = 0;
};

// Of `clocks` clocks, less that of `reference`: by shortest paths, which is all that the delays say
// (Patt-Shamir, Rajsbaum: A theory of clock synchronization, STOC 1994). Unset: not bounded on both
// sides. Nothing at all if the bounds contradict each other, or add up to more than 64 bits hold.
std::optional<std::vector<std::optional<OffsetBounds>>> BoundOffsets(
    std::span<const DelayBound> bounds, uint32_t clocks, uint32_t reference);

// By clock, the number of its group: all that bound each other on both sides, directly or by others
// (the strongly connected components; Tarjan, 1972). Linear in clocks and bounds.
std::vector<uint32_t> GroupsOf(std::span<const DelayBound> bounds, uint32_t clocks);

}  // namespace rocescope
