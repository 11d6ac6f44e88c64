// SPDX-License-Identifier: BSD-3-Clause
// Converts a job's iterations to values of analysis windows, which may be longer or shorter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/collective/collective.h"
#include "analytics/service_level/indicator.h"

namespace rocescope {

// Returns the rate in bits per second at which a member sends during an iteration's collectives; 0:
// unknown.
double BusBandwidth(const JobIterationPattern& iteration_pattern, const IterationSpan& iteration);

// Returns one value per window in [from, until): the mean over the iterations that overlap the
// window, weighted by the overlap; NaN if they cover less than half of the window. `spans` is
// ascending and may contain more iterations than the iteration pattern still has.
std::vector<double> IterationValues(const JobIterationPattern& iteration_pattern,
                                    std::span<const IterationSpan> spans,
                                    ServiceIndicator indicator, Duration window, int64_t from,
                                    int64_t until);

}  // namespace rocescope
