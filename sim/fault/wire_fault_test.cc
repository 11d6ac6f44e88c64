// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/wire_fault.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rocescope::sim {
namespace {

struct Losses {
  int lost = 0;
  int bursts = 0;
};
Losses Send(FaultyWire wire, int frames, uint32_t length = 1000) {
  Frame frame;
  frame.length = length;
  Losses losses;
  bool before = false;
  for (int i = 0; i < frames; ++i) {
    const bool lost = wire.FateOf(frame) != WireFault::Fate::kPasses;
    losses.lost += lost;
    losses.bursts += lost && !before;
    before = lost;
  }
  return losses;
}

TEST(FaultyWireTest, LosesItsShare) {
  const Losses losses = Send(FaultyWire({.probability = 0.01, .seed = 3}), 100'000);
  EXPECT_NEAR(losses.lost, 1000, 4 * std::sqrt(990));
}

TEST(FaultyWireTest, LosesTheSameShareInBursts) {
  const Losses losses = Send(FaultyWire({.probability = 0.01, .burst = 10, .seed = 3}), 1'000'000);
  EXPECT_NEAR(losses.lost, 10'000, 1500);
  EXPECT_NEAR(static_cast<double>(losses.lost) / losses.bursts, 10, 1);
}

TEST(FaultyWireTest, LosesAllInOneBurst) {
  EXPECT_EQ(Send(FaultyWire({.probability = 1, .burst = 4}), 1000).lost, 1000);
}

TEST(FaultyWireTest, SparesShortFrames) {
  FaultyWire::Options options = {.probability = 1, .least_length = 1000};
  EXPECT_EQ(Send(FaultyWire(options), 10, 999).lost, 0);
  EXPECT_EQ(Send(FaultyWire(options), 10, 1000).lost, 10);
}

TEST(FaultyWireTest, DelaysItsShare) {
  FaultyWire wire({.probability = 0.01,
                   .fate = WireFault::Fate::kDelayed,
                   .delay = 5 * kMicrosecond,
                   .seed = 3});
  Frame frame;
  frame.length = 1000;
  int delayed = 0;
  for (int i = 0; i < 100'000; ++i) {
    delayed += wire.FateOf(frame) == WireFault::Fate::kDelayed;
  }
  EXPECT_NEAR(delayed, 1000, 4 * std::sqrt(990));
  EXPECT_EQ(wire.affected(), static_cast<uint64_t>(delayed));
  EXPECT_EQ(wire.delay(), 5 * kMicrosecond);
}

}  // namespace
}  // namespace rocescope::sim
