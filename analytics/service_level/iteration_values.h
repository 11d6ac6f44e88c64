// SPDX-License-Identifier: BSD-3-Clause
// What a job's iterations say of analysis windows, which may be longer or shorter than they.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/collective/collective.h"
#include "analytics/service_level/indicator.h"

namespace rocescope {

// Bits a second that a member sends by while an iteration's collectives last; 0: not known.
double BusBandwidth(const JobIterationPattern& iteration_pattern, const IterationSpan& iteration);

// By window from `from` on and before `until`, of length `window`: the mean over the iterations
// that it overlaps, weighted by how long; not a number where they cover less than half of it.
// `spans`: ascending, of which the rhythm may remember the last ones alone.
std::vector<double> IterationValues(const JobIterationPattern& iteration_pattern, std::span<const IterationSpan> spans,
                                    ServiceIndicator indicator, Duration window, int64_t from,
                                    int64_t until);

}  // namespace rocescope
