// SPDX-License-Identifier: BSD-3-Clause
// A job's iteration pattern in the report.
#pragma once

#include <string>

#include "analytics/collective/collective.h"

namespace rocescope {

namespace v1 {
class IterationPattern;
}

void FillIterationPattern(const JobIterationPattern& iteration_pattern, v1::IterationPattern& out);
void AppendIterationPattern(const v1::IterationPattern& iteration_pattern, std::string& text);

}  // namespace rocescope
