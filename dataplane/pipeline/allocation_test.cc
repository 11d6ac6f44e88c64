// SPDX-License-Identifier: BSD-3-Clause
// Packets cause no allocation once their flow and tap are known and the batch has space.
#include <gtest/gtest.h>

#include "dataplane/pipeline/frame_processor.h"
#include "tests/support/counted_allocations.h"
#include "tests/support/frame_mix.h"

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

  const uint64_t before = allocations;
  ::operator delete(::operator new(1));  // verifies that allocations are counted
  processor.Process(mix.frames(), out);
  processor.Process(mix.frames(), out);
  EXPECT_EQ(allocations - before, 1u);
}

}  // namespace
}  // namespace rocescope::test
