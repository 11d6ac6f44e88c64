// SPDX-License-Identifier: BSD-3-Clause
// Which single packets are reported. One rule for the whole fabric: every tap, and both directions
// of a host pair, choose the same packets, so that a packet can be followed from tap to tap, an ACK
// found beside its request, and absence means something.
//
// A packet is chosen with probability 2^-k by the hash of its unordered address pair and its PSN;
// and, at the same rate, by the hash of the pair and a memory address: that of the RETH, or the one
// that a clear-to-send grants, so that both ends of a RETH echo are chosen together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

inline constexpr uint8_t kMaximumSightingExponent = 24;

constexpr bool IsChosen(uint64_t hash, uint8_t exponent) {
  return exponent == 0 || hash >> (64 - exponent) == 0;
}

// Memory addresses and PSNs must not meet in one hash value. `pair`: see HashPair.
constexpr uint64_t HashAddress(uint64_t pair, uint64_t address) { return HashPair(pair, ~address); }

// Chooses k for each epoch so that about `per_interval` packets of a record interval are chosen,
// and caps the packets that are reported whatever k is (NAK, CNP). An epoch is a record interval,
// or less of it where traffic comes faster than k was made for.
class SightingBudget {
 public:
  struct Options {
    uint32_t chosen_per_interval = 8192;
    uint32_t always_per_interval = 8192;
  };

  explicit SightingBudget(Options options) : options_(options) { SetExponent(0); }

  uint8_t exponent() const { return exponent_; }

  // As IsChosen(hash, exponent()).
  bool Chooses(uint64_t hash) const { return hash <= threshold_; }

  // Counts a packet, once it is known whether it was chosen; k grows when it is far too small for
  // what comes.
  void CountEligible() {
    if (++eligible_ >= limit_) [[unlikely]]
      SetExponent(std::min<uint8_t>(exponent_ + 1, kMaximumSightingExponent));
  }

  bool AdmitAlways() {
    if (always_ >= options_.always_per_interval) {
      ++capped_;
      return false;
    }
    ++always_;
    return true;
  }

  // Sets k by what the interval had; returns how many sightings the cap refused in it.
  uint64_t EndInterval() {
    uint8_t exponent = 0;
    while (exponent < kMaximumSightingExponent &&
           eligible_ >> exponent > options_.chosen_per_interval) {
      ++exponent;
    }
    SetExponent(exponent);
    const uint64_t capped = capped_;
    eligible_ = always_ = capped_ = 0;
    return capped;
  }

 private:
  static constexpr uint64_t kOverrun = 2;

  void SetExponent(uint8_t exponent) {
    exponent_ = exponent;
    threshold_ = UINT64_MAX >> exponent;
    limit_ = (kOverrun * options_.chosen_per_interval + 1) << exponent;
    if (exponent == kMaximumSightingExponent) limit_ = UINT64_MAX;
  }

  Options options_;
  uint8_t exponent_ = 0;
  uint64_t threshold_ = 0;  // of the hashes that k chooses
  uint64_t limit_ = 0;      // eligible packets at which k grows at once
  uint64_t eligible_ = 0;
  uint64_t always_ = 0;
  uint64_t capped_ = 0;
};

}  // namespace rocescope
