// SPDX-License-Identifier: BSD-3-Clause
// What is known to be missing from the answer: a row for each table that can be full and each rule
// that leaves something out.
#pragma once

#include <string>

#include "appliance/common/report/replay_report.h"

namespace rocescope {

namespace v1 {
class Coverage;
}

void FillCoverage(const ReplayFindings& findings, v1::Coverage& out);

// A line for each thing that is missing; nothing for the rest.
void AppendCoverage(const v1::Coverage& coverage, std::string& text);

}  // namespace rocescope
