// SPDX-License-Identifier: BSD-3-Clause
// Who did it, by whom it hurt: a place through whose traffic the hurt ones' share goes as their
// hurts do is the likeliest.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analytics/diagnosis/finding.h"

namespace rocescope {

// What a place passed on, in octets, by whoever it may have hurt: a NIC's or a flow's number.
using Passed = std::map<uint32_t, double>;

struct Exposed {
  FindingKind kind = FindingKind::kCorruption;  // what it would be
  Place place;
  Passed passed;
  double prior = 1;  // how likely it is before anybody is hurt, against the others
};

// How often each was hurt, by its number.
using Hurts = std::map<uint32_t, double>;

// The likeliest first, probabilities adding up to 1. Hurts are Poisson counts in proportion to what
// passed; what a place does not explain comes from elsewhere, which is a hundred times less likely.
// Places that passed nothing are none.
std::vector<Suspect> RankByHurts(std::span<const Exposed> places, const Hurts& hurts);

// Makes the first one the finding and the next few its rivals.
void Accuse(std::span<const Suspect> ranked, Finding& finding);

}  // namespace rocescope
