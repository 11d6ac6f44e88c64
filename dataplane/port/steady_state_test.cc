// SPDX-License-Identifier: BSD-3-Clause
// Neither packets nor polls allocate: a file of three times the length needs no more allocations.
#include <gtest/gtest.h>

#include <atomic>

#include "dataplane/port/test_port.h"
#include "tests/support/counted_allocations.h"
#include "tests/support/frame_mix.h"

namespace rocescope::test {
namespace {

uint64_t AllocationsOf(const std::vector<RawFrame>& lap, int laps) {
  std::vector<RawFrame> frames;
  for (int i = 0; i < laps; ++i) frames.insert(frames.end(), lap.begin(), lap.end());
  const TemporaryFile file(PcapOf(frames));
  TestPort port("net_pcap40", "rx_pcap=" + file.path());
  EXPECT_TRUE(port->Start());
  ReceiveLoop loop({.queues = {{.port = &*port}},
                    .processor = {.flow_table = {.capacity = 1024}, .captures = {"port"}}});
  const std::atomic<bool> never = false;
  const uint64_t before = allocations;
  loop.Run(never);
  const uint64_t during = allocations - before;
  EXPECT_EQ(loop.Statistics().frames.ledger.received, frames.size());
  return during;
}

TEST(SteadyState, NeedsNoAllocation) {
  const FrameMix mix(3000);
  std::vector<RawFrame> lap;
  for (const RawFrame& frame : mix.frames()) {
    if (frame.tap == 0) lap.push_back(frame);
  }
  AllocationsOf(lap, 1);  // absorbs allocations of the first run
  const uint64_t one = AllocationsOf(lap, 1);
  EXPECT_GT(one, 0u);  // verifies that allocations are counted: flows and taps are created
  EXPECT_EQ(AllocationsOf(lap, 3), one);
}

}  // namespace
}  // namespace rocescope::test
