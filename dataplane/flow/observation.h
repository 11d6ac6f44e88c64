// SPDX-License-Identifier: BSD-3-Clause
// The hash rule that selects single packets to report (packet observations). All taps of the fabric
// and both directions of a host pair select the same packets. A packet can therefore be followed
// from tap to tap, an ACK can be matched with its request, and a missing observation is
// significant.
//
// A packet is selected with probability 2^-k by the hash of its unordered address pair and its PSN.
// At the same rate it is selected by the hash of the pair and a memory address: the address in the
// RETH, or the one that a clear-to-send grants, so that both ends of a RETH echo are selected
// together.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

inline constexpr uint8_t kMaximumObservationExponent = 24;

constexpr bool IsChosen(uint64_t hash, uint8_t exponent) {
  return exponent == 0 || hash >> (64 - exponent) == 0;
}

// The address is inverted so that addresses and PSNs do not share hash values. `pair`: see
// HashPair.
constexpr uint64_t HashAddress(uint64_t pair, uint64_t address) { return HashPair(pair, ~address); }

}  // namespace rocescope
