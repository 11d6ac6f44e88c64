// SPDX-License-Identifier: BSD-3-Clause
// A fault that comes and goes is one finding.
#pragma once

#include "analytics/diagnosis/finding.h"
#include "base/time.h"

namespace rocescope {

// A pause of at most this length does not end a fault.
inline constexpr Duration kLongestPause = std::chrono::minutes(5);

// Joins findings of the same kind and place if the pause between them is at most kLongestPause.
// A joined finding lasts from the first to the last, and `times` counts them; findings without a
// pause between them count once. Confidence and evidence are those of the most certain one. Takes
// and returns findings in order of their start.
Findings JoinRecurring(Findings findings);

}  // namespace rocescope
