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

// Whether counters that are evidence for the finding come from sFlow or, for a detector that uses
// paths, no mirrored flow passes the place.
bool IsForgeable(const DiagnosisInput& input, const Finding& finding);

// Limits the confidence of these findings, and says so in their evidence.
void LimitForgeable(const DiagnosisInput& input, Findings& findings);

}  // namespace rocescope
