// SPDX-License-Identifier: BSD-3-Clause
// Faults that a replay could not detect, and the telemetry that was missing.
#pragma once

#include <string>

namespace rocescope {

namespace v1 {
class DiagnosisCoverage;
}

// One paragraph for each kind of missing telemetry, indented by two, in lines that fit a terminal.
// Ends with an empty line. Empty if all fault kinds were detectable.
std::string UnseenFaultsText(const v1::DiagnosisCoverage& coverage);

}  // namespace rocescope
