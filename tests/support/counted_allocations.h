// SPDX-License-Identifier: BSD-3-Clause
// Replaces operator new of the whole program by a counting version. Include it in only one source.
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

// Not inlined: otherwise g++ would warn about malloc or free paired with the other operator.
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
