// SPDX-License-Identifier: BSD-3-Clause
// Simulated time in picoseconds since the start of the run. Nanoseconds are too coarse: at 400 Gb/s
// a byte takes 20 ps, and rounding each frame to a nanosecond would change its rate by up to 5 %.
#pragma once

#include <cstdint>

namespace rocescope::sim {

using SimTime = int64_t;  // ps; overflows after 106 days

inline constexpr SimTime kNanosecond = 1'000;
inline constexpr SimTime kMicrosecond = 1'000'000;
inline constexpr SimTime kMillisecond = 1'000'000'000;
inline constexpr SimTime kSecond = 1'000'000'000'000;
inline constexpr SimTime kNever = INT64_MAX;

// Returns the serialisation time of `octets` bytes. It is exact wherever a bit takes a whole number
// of picoseconds (every Ethernet speed up to 400 Gb/s; 800 Gb/s per byte) and rounded down
// otherwise.
constexpr SimTime TransmitTime(uint64_t bytes, uint64_t bits_per_second) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<SimTime>(static_cast<Wide>(bytes) * 8 * kSecond / bits_per_second);
}

}  // namespace rocescope::sim
