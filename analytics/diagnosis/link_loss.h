// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"
#include "topology/fabric.h"

namespace rocescope {

// Directions of links that seem to lose frames only because their ends count differently. Sending
// ports, ascending.
struct Mismatches {
  std::vector<topology::PortIndex> shared;   // as most directions like these (SharedByMost)
  std::vector<topology::PortIndex> refuted;  // the bytes of these frames arrive
};

Mismatches MismatchesIn(const DiagnosisInput& input);

}  // namespace rocescope
