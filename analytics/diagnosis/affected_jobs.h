// SPDX-License-Identifier: BSD-3-Clause
// Whom a fault hurts: the jobs whose packets passed the place while it lasted.
#pragma once

#include "analytics/diagnosis/finding.h"
#include "analytics/diagnosis/scene.h"

namespace rocescope {

// For findings that name no victims. A finding's own culprits are none. Takes connections and
// their stretches times findings, and nothing if there are no findings.
void FillVictims(const Scene& scene, Findings& findings);

}  // namespace rocescope
