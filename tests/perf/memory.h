// SPDX-License-Identifier: BSD-3-Clause
// How much of this process is in memory: what the kernel says, so that what was reserved and never
// touched does not count, and what the allocator keeps does.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace rocescope {

inline int64_t StatusKilobytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != field) continue;
    int64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes;
  }
  return 0;
}

// Bytes, of now. What was freed goes back to the kernel first.
inline int64_t ResidentBytes() {
  malloc_trim(0);
  return StatusKilobytes("VmRSS:") * 1024;
}

// The most since ForgetPeak.
inline int64_t PeakBytes() { return StatusKilobytes("VmHWM:") * 1024; }
inline void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace rocescope
