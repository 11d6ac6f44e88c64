// SPDX-License-Identifier: BSD-3-Clause
// From one entity's values, window by window, to its level of service.
#pragma once

#include <optional>
#include <span>

#include "analytics/service_level/service_level.h"

namespace rocescope {

// Not a number: the window has no value.
bool HasValue(double value);

// The median of the first windows that have a value, off by six of their spreads or by `slack` of
// it, whichever is more. The spread is the median distance from the median times 1.4826, as of
// values that are normally distributed: less than half of them may be faulty without harm.
std::optional<double> LearntBound(std::span<const double> values, Worse worse, double slack,
                                  const ServiceLevelOptions& options);

bool IsWithin(double value, double bound, Worse worse);

// Fills in bound, last value, shares and state. `values`: of consecutive windows, the last one of
// which has just come to an end; only the last `long_windows` count.
//
// The short window is that of the last `short_windows` values, as some come from tellers that are
// slower than windows; without a value in the newer half of the long window there is no data. The
// long one is below the objective when as many windows were out of bounds as are more than it may
// miss when it is full: at a beginning, one bad window in three would say nothing yet.
void Judge(std::span<const double> values, std::optional<double> bound,
           const ServiceLevelOptions& options, ServiceLevel& level);

}  // namespace rocescope
