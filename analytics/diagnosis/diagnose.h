// SPDX-License-Identifier: BSD-3-Clause
// Runs the detectors and reduces what they suspect to root causes.
#pragma once

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"

namespace rocescope {

// Runs all detectors. Returns root causes in order of time, with their symptoms and affected jobs,
// and with calibrated confidences (calibration.h).
// `lasting`: findings of earlier diagnoses that are still active although no detector may find them
// (finding_history.h).
Findings Diagnose(const DiagnosisInput& input, Findings lasting = {});

// Moves each suspected fault that another one explains to the symptoms of that root cause.
Findings GroupByRootCause(const topology::Fabric& fabric, Findings found, Duration window,
                          const Thresholds& thresholds = {});

}  // namespace rocescope
