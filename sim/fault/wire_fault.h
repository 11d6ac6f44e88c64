// SPDX-License-Identifier: BSD-3-Clause
// Frame loss and bit errors on one direction of a link.
#pragma once

#include <cstdint>

#include "sim/engine/random.h"
#include "sim/net/port.h"

namespace rocescope::sim {

// Loses a fraction of the frames: independently, in bursts, or only long frames. With bit errors
// the receiving port counts a wrong FCS; without them the loss is silent (gray).
class LossyWire final : public WireFault {
 public:
  struct Options {
    double probability = 0;     // mean fraction of frames that are lost
    double burst = 1;           // mean number of consecutive lost frames; 1: independent losses
    uint32_t least_length = 0;  // bytes; shorter frames always pass
    bool bit_errors = false;
    uint64_t seed = 0;
  };

  explicit LossyWire(const Options& options)
      : options_(options), random_(options.seed, "lossy wire", 0) {}

  Fate FateOf(const Frame& frame) override {
    if (frame.length < options_.least_length || !Strikes()) return Fate::kPasses;
    ++lost_;
    return options_.bit_errors ? Fate::kBitError : Fate::kLost;
  }

  uint64_t lost() const { return lost_; }
  void SetProbability(double probability) { options_.probability = probability; }

 private:
  // Gilbert's model. All frames are lost in the bad state, which ends with probability 1/burst and
  // begins with the probability that gives the mean loss.
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
  uint64_t lost_ = 0;
};

}  // namespace rocescope::sim
