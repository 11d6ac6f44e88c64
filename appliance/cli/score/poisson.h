// SPDX-License-Identifier: BSD-3-Clause
// Confidence intervals of the mean of a Poisson distribution, for rates of rare events.
#pragma once

#include <cstdint>

#include "appliance/cli/score/wilson.h"

namespace rocescope {

// The two-sided 95 % interval of the mean if `count` events were counted: Garwood, Fiducial limits
// for the Poisson distribution, Biometrika 28 (1936).
Interval PoissonInterval(uint64_t count);

// The one-sided upper 95 % bound of the mean: 2.996 if no event was counted.
double PoissonUpperBound(uint64_t count);

}  // namespace rocescope
