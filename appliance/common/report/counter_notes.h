// SPDX-License-Identifier: BSD-3-Clause
// Sentences about readings of counters that nothing was made of, and about what those that were
// used leave open.
#pragma once

#include <string>
#include <vector>

#include "analytics/diagnosis/coverage.h"
#include "analytics/metric/reading_problem.h"

namespace rocescope {

std::vector<std::string> NotesOnCounters(const ReadingProblem& trouble,
                                         const DiagnosisCoverage& coverage);

}  // namespace rocescope
