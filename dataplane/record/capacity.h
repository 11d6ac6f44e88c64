// SPDX-License-Identifier: BSD-3-Clause
// How many flows a box keeps. Tables that follow flows take their limits from here, so that none of
// them is full long before the others.
#pragma once

#include <cstdint>

namespace rocescope {

// Flows at taps, each TTL of its own: half a million queue pairs, both directions, seen at one tap.
inline constexpr uint32_t kFlowCapacity = 1u << 20;

}  // namespace rocescope
