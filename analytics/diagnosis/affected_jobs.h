// SPDX-License-Identifier: BSD-3-Clause
// The jobs that a fault affects. Jobs whose packets passed its place while it lasted are exposed to
// it. They are affected if these packets were retransmitted, or if their iterations took longer.
#pragma once

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"

namespace rocescope {

// Fills in the affected and the exposed jobs of findings without affected jobs. A job is not
// exposed merely because its flows cause the finding. If the iterations of no job are observed, all
// exposed jobs count as affected. The time is proportional to the path segments of all connections
// times the findings.
void FillVictims(const DiagnosisInput& input, Findings& findings);

}  // namespace rocescope
