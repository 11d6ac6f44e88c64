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
Losses Send(LossyWire wire, int frames, uint32_t length = 1000) {
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

TEST(LossyWireTest, LosesItsShare) {
  const Losses losses = Send(LossyWire({.probability = 0.01, .seed = 3}), 100'000);
  EXPECT_NEAR(losses.lost, 1000, 4 * std::sqrt(990));
}

TEST(LossyWireTest, LosesTheSameShareInBursts) {
  const Losses losses = Send(LossyWire({.probability = 0.01, .burst = 10, .seed = 3}), 1'000'000);
  EXPECT_NEAR(losses.lost, 10'000, 1500);
  EXPECT_NEAR(static_cast<double>(losses.lost) / losses.bursts, 10, 1);
}

TEST(LossyWireTest, LosesAllInOneBurst) {
  EXPECT_EQ(Send(LossyWire({.probability = 1, .burst = 4}), 1000).lost, 1000);
}

TEST(LossyWireTest, SparesShortFrames) {
  LossyWire::Options options = {.probability = 1, .least_length = 1000};
  EXPECT_EQ(Send(LossyWire(options), 10, 999).lost, 0);
  EXPECT_EQ(Send(LossyWire(options), 10, 1000).lost, 10);
}

}  // namespace
}  // namespace rocescope::sim
