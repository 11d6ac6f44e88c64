// SPDX-License-Identifier: BSD-3-Clause
// Which single packets are reported. One rule for the whole fabric: every tap, and both directions
// of a host pair, choose the same packets, so that a packet can be followed from tap to tap, an ACK
// found beside its request, and absence means something.
//
// A packet is chosen with probability 2^-k by the hash of its unordered address pair and its PSN;
// and, at the same rate, by the hash of the pair and a memory address: that of the RETH, or the one
// that a clear-to-send grants, so that both ends of a RETH echo are chosen together.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

inline constexpr uint8_t kMaximumSightingExponent = 24;

constexpr bool IsChosen(uint64_t hash, uint8_t exponent) {
  return exponent == 0 || hash >> (64 - exponent) == 0;
}

// Memory addresses and PSNs must not meet in one hash value.
constexpr uint64_t AddressHash(const FlowKey& flow, uint64_t address) {
  return HashUnorderedPair(flow.source, flow.destination, ~address);
}

// Sets k for the next epoch so that about `budget` packets are chosen, and caps the packets that
// are reported whatever k is (NAK, CNP).
class SightingBudget {
 public:
  struct Options {
    uint32_t chosen_per_epoch = 8192;
    uint32_t always_per_epoch = 8192;
  };

  explicit SightingBudget(Options options) : options_(options) {}

  uint8_t exponent() const { return exponent_; }
  void CountEligible() { ++eligible_; }
  bool AdmitAlways() {
    if (always_ >= options_.always_per_epoch) {
      ++capped_;
      return false;
    }
    ++always_;
    return true;
  }

  // Ends an epoch; returns how many sightings the cap refused in it.
  uint64_t EndEpoch() {
    exponent_ = 0;
    while (exponent_ < kMaximumSightingExponent &&
           eligible_ >> exponent_ > options_.chosen_per_epoch) {
      ++exponent_;
    }
    const uint64_t capped = capped_;
    eligible_ = always_ = capped_ = 0;
    return capped;
  }

 private:
  Options options_;
  uint8_t exponent_ = 0;
  uint64_t eligible_ = 0;
  uint64_t always_ = 0;
  uint64_t capped_ = 0;
};

}  // namespace rocescope
