// SPDX-License-Identifier: BSD-3-Clause
// `rocescope detectors`: lists the detectors of the diagnosis.
#pragma once

#include "appliance/cli/command/analysis.h"

namespace rocescope {

// Prints each detector with its kinds of faults, the least duration of each at the default
// thresholds, and its stated rate of false findings. Returns an ExitCode.
int RunDetectors(ReportFormat format);

}  // namespace rocescope
