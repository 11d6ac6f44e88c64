// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong on one direction of a link, frame by frame.
#pragma once

#include <cstdint>

#include "sim/engine/random.h"
#include "sim/net/port.h"

namespace rocescope::sim {

// Loses a share of the frames: each by dice; or in bursts; or the long ones alone. With bit errors
// the next MAC sees a bad FCS, else nobody sees anything (gray).
class LossyWire final : public WireFault {
 public:
  struct Options {
    double probability = 0;     // of a frame to be lost, on average
    double burst = 1;           // frames that are lost in a row, on average; 1: each by itself
    uint32_t least_length = 0;  // octets: shorter frames pass
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

 private:
  // Gilbert's model with everything lost in its bad state: that ends with 1/burst, and begins so
  // often that the average holds.
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

  const Options options_;
  Random random_;
  bool bad_ = false;
  uint64_t lost_ = 0;
};

}  // namespace rocescope::sim
