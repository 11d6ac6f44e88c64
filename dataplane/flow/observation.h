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

inline constexpr uint8_t kMaximumObservationExponent = 24;

constexpr bool IsChosen(uint64_t hash, uint8_t exponent) {
  return exponent == 0 || hash >> (64 - exponent) == 0;
}

// Memory addresses and PSNs must not meet in one hash value. `pair`: see HashPair.
constexpr uint64_t HashAddress(uint64_t pair, uint64_t address) { return HashPair(pair, ~address); }

}  // namespace rocescope
