// SPDX-License-Identifier: BSD-3-Clause
// Ranks the places that may be the cause of lost or corrupted packets. The most likely place is the
// one where each flow's share of the traffic fits best its share of the affected packets.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analytics/diagnosis/finding.h"

namespace rocescope {

// Bytes that passed a place, by NIC index or flow number.
using Passed = std::map<uint32_t, double>;

struct Exposed {
  FaultKind kind = FaultKind::kCorruption;  // kind of the fault at this place
  Place place;
  Passed passed;
  double prior = 1;  // relative probability before any packet is affected
};

// Affected packets, by NIC index or flow number.
using AffectedPackets = std::map<uint32_t, double>;

// Returns the most likely place first; the probabilities add up to 1. Affected packets are Poisson
// counts. The model of a place is that it affected 99 % of them, in proportion to its traffic, and
// that the others have another cause. Places without traffic are left out.
std::vector<Suspect> RankSuspects(std::span<const Exposed> places, const AffectedPackets& hurts);

// Makes the first suspect the finding and the next few its alternatives.
void SetSuspects(std::span<const Suspect> ranked, Finding& finding);

}  // namespace rocescope
