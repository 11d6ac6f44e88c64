// SPDX-License-Identifier: BSD-3-Clause
// Frame loss, bit errors and reordering on one direction of a link.
#pragma once

#include <cstdint>

#include "sim/engine/random.h"
#include "sim/net/port.h"

namespace rocescope::sim {

// Loses, damages or delays a fraction of the frames: independently, in bursts, or only long frames.
class FaultyWire final : public WireFault {
 public:
  struct Options {
    double probability = 0;     // mean fraction of frames that are affected
    double burst = 1;           // mean number of consecutive frames; 1: independent of each other
    uint32_t least_length = 0;  // bytes; shorter frames always pass
    Fate fate = Fate::kLost;    // of affected frames
    SimTime delay = 0;          // of delayed frames
    uint64_t seed = 0;
  };

  explicit FaultyWire(const Options& options)
      : options_(options), random_(options.seed, "lossy wire", 0) {}

  Fate FateOf(const Frame& frame) override {
    if (frame.length < options_.least_length || !Strikes()) return Fate::kPasses;
    ++affected_;
    return options_.fate;
  }
  SimTime delay() const override { return options_.delay; }

  uint64_t affected() const { return affected_; }
  void SetProbability(double probability) { options_.probability = probability; }

 private:
  // Gilbert's model. All frames are affected in the bad state, which ends with probability 1/burst
  // and begins with the probability that gives the mean fraction.
  bool Strikes() {
    const double p = options_.probability;
    if (options_.burst <= 1 || p >= 1) return random_.Chance(p);
    if (bad_) {
      bad_ = !random_.Chance(1 / options_.burst);
    } else {
      bad_ = random_.Chance(p / (options_.burst * (1 - p)));
    }
    return bad_;
  }

  Options options_;
  Random random_;
  bool bad_ = false;
  uint64_t affected_ = 0;
};

}  // namespace rocescope::sim
