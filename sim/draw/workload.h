// SPDX-License-Identifier: BSD-3-Clause
// Draws the fabric and its workload.
#pragma once

#include "sim/draw/dice.h"
#include "sim/draw/outline.h"

namespace rocescope::sim {

// Draws a fabric with 64 or 128 GPUs: leaf-spine with hosts in racks, the same rail-optimised, or a
// three-tier fat tree with k = 8.
topology::Blueprint DrawFabric(RandomSource& dice);
// Draws a fabric of the same shapes with 64 to 512 GPUs.
topology::Blueprint DrawLargeFabric(RandomSource& dice);
// Draws a small fabric in which a cyclic buffer dependency can form: four to six leaves below two
// spines.
topology::Blueprint DrawNarrowFabric(RandomSource& dice);

struct WorkloadNeeds {
  uint32_t least_queue_pairs = 1;  // minimum per connection: 1 to 4
  bool congestion = false;         // streams that overload a NIC
  // Streams that also overload the first sender, so that its CNPs are delayed too.
  bool both_ways = false;
  // One job on a narrow fabric whose all-to-all fills switches with small buffers, which a PFC
  // deadlock needs.
  bool full_buffers = false;
};
// Draws one to six jobs with any of the collectives, background streams, and, if it is 0, the
// duration of the run: each job has time for more than kIterations iterations. Jobs send for about
// a fifth of the time. In the flow model, a run lasts one to six hours, jobs send for 15 to 50 % of
// the time, and some start or end during the run; another job may then use their hosts. The
// outline's fabric must have been generated.
void DrawWorkload(const topology::Fabric& fabric, const WorkloadNeeds& needs, RandomSource& dice,
                  Outline& outline);
inline constexpr uint32_t kIterations = 20;

}  // namespace rocescope::sim
