// SPDX-License-Identifier: BSD-3-Clause
// `rocescope replay --blast-radius ELEMENT` and `--needs ELEMENT`: dependencies between elements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "appliance/cli/command/analysis.h"
#include "appliance/common/report/dependency_report.h"

namespace rocescope {

struct DependencyRequest {
  DependencyQuestion question = DependencyQuestion::kBlastRadius;
  std::string element;  // by name
};

// Returns "--blast-radius" or "--needs".
std::string_view OptionOf(DependencyQuestion question);

// Prints the answers to standard output in this order. The snapshot must have a fabric. Returns an
// ExitCode: kExitUsage, after a message and without output, if an element does not exist.
int PrintDependencies(const std::vector<DependencyRequest>& requests, const Snapshot& snapshot,
                      ReportFormat format);

}  // namespace rocescope
