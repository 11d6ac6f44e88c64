// SPDX-License-Identifier: BSD-3-Clause
// Which faults a replay could not have found, for want of what telemetry.
#pragma once

#include <string>

namespace rocescope {

namespace v1 {
class DiagnosisCoverage;
}

// One paragraph for each telemetry that would show some, indented by two, of lines that fit a
// terminal; ends with an empty line. "" if all faults could have been found.
std::string UnseenFaultsText(const v1::DiagnosisCoverage& coverage);

}  // namespace rocescope
