// SPDX-License-Identifier: BSD-3-Clause
// From suspicions to root causes: what follows from another one folds under it.
#pragma once

#include "analytics/diagnosis/finding.h"
#include "analytics/diagnosis/scene.h"

namespace rocescope {

// Runs all detectors. Root causes in order of time, with their symptoms and victims.
Findings Diagnose(const Scene& scene);

// The second half of it, by itself.
Findings FoldSymptoms(const topology::Fabric& fabric, Findings found, Duration window);

}  // namespace rocescope
