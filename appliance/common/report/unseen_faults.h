// SPDX-License-Identifier: BSD-3-Clause
// The fault types that were not detectable, and the missing telemetry.
#pragma once

#include <string>

namespace rocescope {

namespace v1 {
class DiagnosisCoverage;
}

// Lists the undetectable fault types, one paragraph for each kind of missing telemetry, and those
// that are undetectable at some switches. Indented by two spaces and wrapped for a terminal,
// followed by an empty line. Returns "" if all fault types are detectable everywhere.
std::string UnseenFaultsText(const v1::DiagnosisCoverage& coverage);

// Sentences on the ports whose packet counters are not used; empty if there are none.
std::string UnusableCountersText(const v1::DiagnosisCoverage& coverage);

// Like UnseenFaultsText, but one line for each kind of missing telemetry, with the number of fault
// types.
std::string MissingTelemetryText(const v1::DiagnosisCoverage& coverage);

}  // namespace rocescope
