// SPDX-License-Identifier: BSD-3-Clause
// Computes an entity's service level from its values by window.
#pragma once

#include <optional>
#include <span>

#include "analytics/service_level/service_level.h"

namespace rocescope {

// NaN means that the window has no value.
bool HasValue(double value);

// Returns the bound: the median of the first windows with a value, shifted towards worse values by
// six spreads or by `slack` times the median, whichever is larger. The spread is 1.4826 times the
// median absolute deviation, as for a normal distribution. Faulty windows therefore have no effect
// while they are fewer than half of the windows.
std::optional<double> LearntBound(std::span<const double> values, Worse worse, double slack,
                                  const ServiceLevelOptions& options);

bool IsWithin(double value, double bound, Worse worse);

// Fills in bound, last value, shares and state. `values` are of consecutive windows up to the
// latest complete one; only the last `long_windows` count.
//
// The short window consists of the last `short_windows` windows with a value, because some sources
// report less often than once per window. Without a value in the newer half of the long window, the
// state is kNoData. The long window is below the objective if more windows are out of bounds than a
// full long window tolerates; otherwise one bad window among the first three would already count.
void Judge(std::span<const double> values, std::optional<double> bound,
           const ServiceLevelOptions& options, ServiceLevel& level);

}  // namespace rocescope
