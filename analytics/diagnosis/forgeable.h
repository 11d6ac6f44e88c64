// SPDX-License-Identifier: BSD-3-Clause
// Limits the confidence in findings whose evidence is telemetry without authentication: sFlow and
// INT over UDP, whose source address anyone in the network may be able to forge.
#pragma once

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"

namespace rocescope {

// Confidence in a finding that forged telemetry alone could cause. It causes an event, but no
// critical alert (alerts.yaml).
inline constexpr double kForgeable = 0.75;

// Whether somebody could have forged a part of the finding's evidence that its detector names
// (Detector::forgeable): counters or queue watermarks at the place, or counters of a crashed
// switch's neighbours, come from sFlow; only INT shows the fault; or paths locate it, and no
// mirrored flow passes the place. Forging the path of a mirrored flow requires its queue pair
// number.
bool IsForgeable(const DiagnosisInput& input, const Finding& finding);

// Limits the confidence of these findings, and says so in their evidence.
void LimitForgeable(const DiagnosisInput& input, Findings& findings);

}  // namespace rocescope
