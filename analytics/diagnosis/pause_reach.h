// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"

namespace rocescope {

// Whether PFC paused no port of the switches at the finding's place since shortly before its first
// sign. False for a place without a switch, and if that is unknown for a port, because neither its
// counters nor those of its peer were read since then.
bool IsFreeOfPauses(const DiagnosisInput& input, const Finding& finding);

}  // namespace rocescope
