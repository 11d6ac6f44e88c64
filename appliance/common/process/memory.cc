// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>

namespace rocescope {

uint64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.arena + info.hblkhd;
}

uint64_t ResidentBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long long all = 0;
  unsigned long long resident = 0;
  const int read = std::fscanf(file, "%llu %llu", &all, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

uint64_t PhysicalBytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t ReturnFreeMemory() {
  constexpr uint64_t kLittle = uint64_t{16} << 20;
  const struct mallinfo2 info = mallinfo2();
  if (info.fordblks < kLittle || info.fordblks < info.arena / 8) return 0;
  malloc_trim(0);
  return info.fordblks;
}

}  // namespace rocescope
