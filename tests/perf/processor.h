// SPDX-License-Identifier: BSD-3-Clause
// CPU time, and the current speed of the processor, which varies on a shared machine.
#pragma once

#include <time.h>

#include <cstdint>

namespace rocescope {

// Returns the CPU time of the calling thread.
inline double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The current speed, measured with dependent additions (one per cycle).
inline double Gigahertz() {
  constexpr uint64_t kAdditions = 200'000'000;
  const double begin = CpuSeconds();
  uint64_t sum = 0;
  for (uint64_t i = 0; i < kAdditions; ++i) asm volatile("add $1, %0" : "+r"(sum));
  return static_cast<double>(kAdditions) / (CpuSeconds() - begin) / 1e9;
}

}  // namespace rocescope
