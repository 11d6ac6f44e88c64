// SPDX-License-Identifier: BSD-3-Clause
// Plausibility limits of readings. They are wide, because the topology may declare links slower
// than they are and timestamps may be late. They detect broken sources, nothing finer.
#pragma once

#include <cstdint>

#include "analytics/metric/entity.h"
#include "topology/fabric.h"

namespace rocescope {

// Link rates that limit an entity's counters; 0: unknown.
struct LinkRates {
  double own = 0;   // bytes per nanosecond, of its own link
  double node = 0;  // bytes per nanosecond, of all links of its node together
};

LinkRates RatesOf(const topology::Fabric& fabric, const Entity& entity);

// Returns the maximum growth of a counter per nanosecond.
double MostGrowthANanosecond(const Entity& entity, Metric metric, const LinkRates& rates);

bool IsPossibleGauge(Metric metric, uint64_t value);

}  // namespace rocescope
