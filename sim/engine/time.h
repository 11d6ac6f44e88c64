// SPDX-License-Identifier: BSD-3-Clause
// Simulated time: picoseconds since the run began. A nanosecond is too coarse: at 400 Gb/s an octet
// lasts 20 ps, and rounding each frame to a nanosecond would change its rate by 5 %.
#pragma once

#include <cstdint>

namespace rocescope::sim {

using SimTime = int64_t;  // ps: 106 days fit

inline constexpr SimTime kNanosecond = 1'000;
inline constexpr SimTime kMicrosecond = 1'000'000;
inline constexpr SimTime kMillisecond = 1'000'000'000;
inline constexpr SimTime kSecond = 1'000'000'000'000;
inline constexpr SimTime kNever = INT64_MAX;

// How long `octets` occupy a link. Exact wherever a bit lasts whole picoseconds (every Ethernet
// speed up to 400 Gb/s but 800 Gb/s by the octet), else rounded down.
constexpr SimTime TransmitTime(uint64_t bytes, uint64_t bits_per_second) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<SimTime>(static_cast<Wide>(bytes) * 8 * kSecond / bits_per_second);
}

}  // namespace rocescope::sim
