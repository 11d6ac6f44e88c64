// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"
#include "topology/fabric.h"

namespace rocescope {

// The sending ports of the directions that seem to lose frames only because the devices at their
// ends count differently, as most of their directions do (SharedByMost). Ascending.
std::vector<topology::PortIndex> SendersThatMostlyMismatch(const DiagnosisInput& input);

}  // namespace rocescope
