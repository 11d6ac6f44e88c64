// SPDX-License-Identifier: BSD-3-Clause
// Draws what a fabric is and what runs on it.
#pragma once

#include "sim/draw/dice.h"
#include "sim/draw/outline.h"

namespace rocescope::sim {

// Of 64 or 128 GPUs: leaf and spine with hosts in racks, the same rail-optimised, or a fat tree of
// three tiers with k = 8.
topology::Blueprint DrawFabric(RandomSource& dice);
// A small one, in which pauses can close a loop: four to six leaves below two spines.
topology::Blueprint DrawNarrowFabric(RandomSource& dice);

struct WorkloadNeeds {
  uint32_t least_queue_pairs = 1;  // of each connection: 1 to 4
  bool congestion = false;         // streams that together ask more of a NIC than its link has
  bool both_ways = false;          // and of the first one's sender, as its CNPs come
  // One job on a narrow fabric whose all-to-all fills switches with little room, as a deadlock of
  // pauses needs it.
  bool full_buffers = false;
};
// One to six jobs of all collectives, background streams, and how long the run is: each job has
// time for more than kIterations. Jobs send for about a fifth of the time. Needs the outline's
// fabric, generated.
void DrawWorkload(const topology::Fabric& fabric, const WorkloadNeeds& needs, RandomSource& dice,
                  Outline& outline);
inline constexpr uint32_t kIterations = 20;

}  // namespace rocescope::sim
