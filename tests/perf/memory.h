// SPDX-License-Identifier: BSD-3-Clause
// The resident memory of this process according to the kernel, so that reserved but untouched
// memory does not count, and memory that the allocator keeps does.
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

// Current size in bytes. Returns freed memory to the kernel first.
inline int64_t ResidentBytes() {
  malloc_trim(0);
  return StatusKilobytes("VmRSS:") * 1024;
}

// The maximum since ForgetPeak.
inline int64_t PeakBytes() { return StatusKilobytes("VmHWM:") * 1024; }
inline void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

}  // namespace rocescope
