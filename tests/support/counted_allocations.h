// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new for a whole program, to count: include it in one source of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace rocescope::test {

// Calls of operator new by this thread.
inline thread_local uint64_t allocations = 0;

inline void* CountedAllocation(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace rocescope::test

// Inlined, one of them would let g++ see malloc or free meet the other's operator, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return rocescope::test::CountedAllocation(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return rocescope::test::CountedAllocation(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
