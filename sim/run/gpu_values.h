// SPDX-License-Identifier: BSD-3-Clause
// What an H100 SXM with 80 GB reports: values from its data sheet and nvidia-smi. Both models of
// the simulator use them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rocescope::sim::gpu {

inline constexpr uint64_t kMemory = 81'559ull << 20;  // bytes
inline constexpr uint64_t kMemoryOfJob = 62ull << 30;
inline constexpr uint64_t kMemoryOfDriver = 512ull << 20;

// Hz. The clock drops in proportion to the longer compute time.
inline constexpr uint64_t kIdleClock = 345'000'000;
inline uint64_t ClockAt(double slowdown) {
  constexpr double kBoostClock = 1980e6;
  constexpr double kMinClock = 210e6;
  return static_cast<uint64_t>(std::max(kMinClock, kBoostClock / slowdown));
}

// Degrees Celsius. A slow GPU is most often throttled thermally: it is at its temperature limit.
inline constexpr uint64_t kIdle = 32;
inline constexpr uint64_t kBusy = 64;  // at full utilisation
inline constexpr uint64_t kThrottling = 87;
inline constexpr uint64_t kSpread = 4;  // GPUs differ by their position in the air flow

inline uint64_t FreeMemory(bool is_used) {
  return kMemory - kMemoryOfDriver - (is_used ? kMemoryOfJob : 0);
}

}  // namespace rocescope::sim::gpu
