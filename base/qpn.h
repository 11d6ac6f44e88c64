// SPDX-License-Identifier: BSD-3-Clause
// Queue pair numbers and packet sequence numbers: 24 bits each (IBTA vol. 1, 9.2).
#pragma once

#include <compare>
#include <cstdint>

namespace rocescope {

inline constexpr uint32_t k24BitMask = 0xffffff;

// A queue pair number. It is unique only within one host.
struct Qpn {
  uint32_t value = 0;  // 0 to 2^24-1

  friend constexpr auto operator<=>(const Qpn&, const Qpn&) = default;
};

inline constexpr Qpn kManagementQpn{1};  // QP1, the general services interface: CM datagrams

// Signed distance from `from` to `to` modulo 2^24: -2^23 to 2^23-1.
constexpr int32_t PsnDistance(uint32_t from, uint32_t to) {
  const uint32_t forward = (to - from) & k24BitMask;
  return forward >= 0x800000 ? static_cast<int32_t>(forward) - 0x1000000
                             : static_cast<int32_t>(forward);
}

}  // namespace rocescope
