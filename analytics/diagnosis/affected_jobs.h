// SPDX-License-Identifier: BSD-3-Clause
// The jobs that a fault affects: those whose packets passed its place while it lasted.
#pragma once

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"

namespace rocescope {

// Fills in the victims of findings that have none. Flows that cause a finding are not its victims.
// The time is proportional to the path segments of all connections times the findings.
void FillVictims(const DiagnosisInput& input, Findings& findings);

}  // namespace rocescope
