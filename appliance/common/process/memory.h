// SPDX-License-Identifier: BSD-3-Clause
// The memory that this process uses.
#pragma once

#include <cstdint>

namespace rocescope {

// Bytes that the allocator has taken from the system, for all threads. In a process with one thread
// the same work gives the same value, unlike ResidentBytes.
uint64_t HeapBytes();

// Bytes of physical memory; 0 if the system does not report it.
uint64_t ResidentBytes();

// Bytes of physical memory of this machine.
uint64_t PhysicalBytes();

// Returns free memory of the allocator to the system if it holds a lot of it. Returns the bytes
// that were free. Takes milliseconds per GB.
uint64_t ReturnFreeMemory();

}  // namespace rocescope
