// SPDX-License-Identifier: BSD-3-Clause
// No packet costs an allocation once its flow and tap are known and the batch has room.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "dataplane/lcore/frame_processor.h"
#include "tests/support/frame_mix.h"

namespace {
std::atomic<uint64_t> allocations{0};

void* Allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace rocescope::test {
namespace {

TEST(Allocation, DoesNotHappenInTheSteadyState) {
  const FrameMix mix(3000);
  FrameProcessor processor(
      {.flow_table = {.capacity = 64, .interval = std::chrono::milliseconds(1)},
       .captures = {"leaf1", "leaf2"}});
  RecordBatch out;
  out.flows.reserve(100'000);
  out.sightings.reserve(100'000);
  out.management.reserve(100'000);
  processor.Process(mix.frames(), out);

  const uint64_t before = allocations.load();
  std::unique_ptr<int> sign(new int);  // that allocations are counted at all
  processor.Process(mix.frames(), out);
  processor.Process(mix.frames(), out);
  EXPECT_EQ(allocations.load() - before, 1u);
}

}  // namespace
}  // namespace rocescope::test
