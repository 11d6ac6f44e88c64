// SPDX-License-Identifier: BSD-3-Clause
// Timestamps and durations in nanoseconds since the Unix epoch, as distinct types.
#pragma once

#include <chrono>
#include <cstdint>

namespace rocescope {

using Duration = std::chrono::nanoseconds;
using Timestamp = std::chrono::time_point<std::chrono::system_clock, Duration>;

constexpr Timestamp FromNanoseconds(int64_t ns) { return Timestamp(Duration(ns)); }
constexpr int64_t ToNanoseconds(Timestamp t) { return t.time_since_epoch().count(); }

// Timestamps from outside are clamped to these bounds on input, so that the sum and the difference
// of any two fit into 64 bits. The latest time is in 2116; the seconds field of pcap ends in 2106.
inline constexpr Timestamp kEarliestTime = FromNanoseconds(0);
inline constexpr Timestamp kLatestTime = FromNanoseconds((int64_t{1} << 62) - 1);

constexpr Timestamp WithinBounds(Timestamp t) {
  if (t < kEarliestTime) return kEarliestTime;
  return t > kLatestTime ? kLatestTime : t;
}

// Number of the interval of length `width` > 0, aligned to the epoch, that contains `t`. Rounds
// down, also before 1970.
constexpr int64_t IntervalIndex(Timestamp t, Duration width) {
  const int64_t ns = ToNanoseconds(t);
  const int64_t q = ns / width.count();
  return (ns % width.count() < 0) ? q - 1 : q;
}

}  // namespace rocescope
