// SPDX-License-Identifier: BSD-3-Clause
// What a reading can be at all. Bounds are wide: a topology may name links slower than they are,
// and a reading may be stamped late. They tell broken tellers from busy links, nothing finer.
#pragma once

#include <cstdint>

#include "analytics/metric/entity.h"
#include "topology/fabric.h"

namespace rocescope {

// Of the links by which an entity's counters count; 0: none is known.
struct LinkRates {
  double own = 0;   // octets a nanosecond, of its own link
  double node = 0;  // and of all of its node's
};

LinkRates RatesOf(const topology::Fabric& fabric, const Entity& entity);

// By how much a counter can grow in a nanosecond.
double MostGrowthANanosecond(const Entity& entity, Metric metric, const LinkRates& rates);

bool IsPossibleGauge(Metric metric, uint64_t value);

}  // namespace rocescope
