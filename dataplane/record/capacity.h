// SPDX-License-Identifier: BSD-3-Clause
// The number of flows that an appliance tracks. Tables of flows derive their capacity from it, so
// that none of them fills up long before the others.
#pragma once

#include <cstdint>

namespace rocescope {

// Flows at taps, counted per TTL. It suffices for half a million queue pairs in both directions at
// one tap.
inline constexpr uint32_t kFlowCapacity = 1u << 20;

}  // namespace rocescope
