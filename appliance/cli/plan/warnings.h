// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with a plan: loads that exceed collectors or the machine, and names of ports.
#pragma once

#include "appliance/cli/plan/plan.h"
#include "base/result.h"

namespace rocescope::plan {

// Refuses a plan for a machine that cannot process it even without safety factor and headroom. The
// error states how much is missing, and what to change.
Status CheckMachine(const Plan& plan);

// Fills `plan.warnings`, the most severe first.
void AddWarnings(const topology::Fabric& fabric, Plan& plan);

}  // namespace rocescope::plan
