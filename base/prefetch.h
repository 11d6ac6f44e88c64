// SPDX-License-Identifier: BSD-3-Clause
// Prefetches memory that the program will soon change.
#pragma once

#include <cstddef>

namespace rocescope {

// GCC deduces that a function which only prefetches is pure, and removes all calls of it. The empty
// assembler statement prevents this.
inline void Prefetch(const void* at) {
  __builtin_prefetch(at, 1);
  asm volatile("");
}

// Prefetches all cache lines of an object or array.
inline void PrefetchBytes(const void* at, size_t bytes) {
  constexpr size_t kCacheLine = 64;
  const auto* const begin = static_cast<const char*>(at);
  for (size_t offset = 0; offset < bytes; offset += kCacheLine) Prefetch(begin + offset);
}

}  // namespace rocescope
