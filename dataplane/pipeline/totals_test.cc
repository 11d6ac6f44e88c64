// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/totals.h"

#include <gtest/gtest.h>

#include "tests/support/frame_mix.h"

namespace rocescope::test {
namespace {

TEST(DataplaneTotals, SumOverAllProcessors) {
  const FrameMix mix(2000);
  const auto taps = std::make_shared<TapRegistry>(std::vector<std::string>{"leaf1", "leaf2"});
  RecordBatch out;
  FrameProcessor first({.flow_table = {.capacity = 64}, .taps = taps});
  FrameProcessor second({.flow_table = {.capacity = 64}, .taps = taps});
  first.Process(mix.frames().first(1200), out);
  second.Process(mix.frames().subspan(1200), out);
  DataplaneTotals totals;
  totals.Add(first);
  totals.Add(second);
  EXPECT_EQ(totals.counters.ledger.received, 2000u);
  EXPECT_EQ(totals.flows.flows_created,
            first.flows().statistics().flows_created + second.flows().statistics().flows_created);
  uint64_t frames = 0;
  for (const Tap& tap : totals.taps) frames += tap.frames;
  EXPECT_EQ(frames, totals.counters.ledger.decoded);
  EXPECT_EQ(totals.taps.size(), taps->Taps().size());
  uint64_t mirrored = 0;
  for (const MirrorStream& mirror : totals.mirrors) mirrored += mirror.frames;
  EXPECT_GT(mirrored, 100u);
}

}  // namespace
}  // namespace rocescope::test
