// SPDX-License-Identifier: BSD-3-Clause
// Known gaps of the result: one row for each table that can be full and each rule that omits
// something.
#pragma once

#include <string>

#include "appliance/common/report/replay_report.h"

namespace rocescope {

namespace v1 {
class Coverage;
}

void FillCoverage(const ReplayFindings& findings, v1::Coverage& out);

// Appends one line for each kind of missing data.
void AppendCoverage(const v1::Coverage& coverage, std::string& text);

}  // namespace rocescope
