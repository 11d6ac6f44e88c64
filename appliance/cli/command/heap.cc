// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace rocescope {

void PrepareHeap() {
  constexpr int kStep = 64 << 20;
  mallopt(M_TOP_PAD, kStep);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  const auto begin = reinterpret_cast<uintptr_t>(sbrk(0));
  // The heap grows only when this much is allocated at once; untouched memory costs nothing.
  // `volatile` keeps the compiler from removing the pair of calls.
  void* volatile memory = std::malloc(kStep / 2);
  std::free(memory);
  constexpr uintptr_t kLargePage = uintptr_t{2} << 20;
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  const uintptr_t first = (begin + kLargePage - 1) / kLargePage * kLargePage;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace rocescope
