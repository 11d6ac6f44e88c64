// SPDX-License-Identifier: BSD-3-Clause
// Notes about counter readings that were ignored, and about the limits of those that were used.
#pragma once

#include <string>
#include <vector>

#include "analytics/diagnosis/coverage.h"
#include "analytics/metric/reading_problem.h"

namespace rocescope {

std::vector<std::string> NotesOnCounters(const ReadingProblem& trouble,
                                         const DiagnosisCoverage& coverage);

}  // namespace rocescope
