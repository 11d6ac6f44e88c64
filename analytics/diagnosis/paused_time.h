// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "analytics/diagnosis/diagnosis_input.h"
#include "topology/fabric.h"

namespace rocescope {

// Time for which the port's queue was paused by PFC in each window, as the port or its peer reports
// it.
Row PausedTime(const DiagnosisInput& input, topology::PortIndex port, uint8_t priority);

}  // namespace rocescope
