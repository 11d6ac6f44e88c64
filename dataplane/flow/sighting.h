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

// Chooses k for each epoch so that about `per_interval` packets of a record interval are chosen,
// and caps the packets that are reported whatever k is (NAK, CNP). An epoch is a record interval,
// or less of it where traffic comes faster than k was made for.
class SightingBudget {
 public:
  struct Options {
    uint32_t chosen_per_interval = 8192;
    uint32_t always_per_interval = 8192;
  };

  explicit SightingBudget(Options options) : options_(options) {}

  uint8_t exponent() const { return exponent_; }

  // Counts a packet; true when k is now far too small for what comes and Raise is due.
  bool CountEligible() {
    return ++eligible_ >> exponent_ > kOverrun * options_.chosen_per_interval;
  }
  void Raise() { exponent_ += exponent_ < kMaximumSightingExponent; }

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
    exponent_ = 0;
    while (exponent_ < kMaximumSightingExponent &&
           eligible_ >> exponent_ > options_.chosen_per_interval) {
      ++exponent_;
    }
    const uint64_t capped = capped_;
    eligible_ = always_ = capped_ = 0;
    return capped;
  }

 private:
  static constexpr uint64_t kOverrun = 2;

  Options options_;
  uint8_t exponent_ = 0;
  uint64_t eligible_ = 0;
  uint64_t always_ = 0;
  uint64_t capped_ = 0;
};

}  // namespace rocescope
