// SPDX-License-Identifier: BSD-3-Clause
// `rocescope replay --blast-radius ELEMENT` and `--needs ELEMENT`: who needs what.
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

// "--blast-radius", "--needs".
std::string_view OptionOf(DependencyQuestion question);

// To standard output, in this order. The snapshot has a fabric. Returns an ExitCode:
// kExitUsage, with nothing printed and messages on standard error, where there is no such element.
int PrintDependencies(const std::vector<DependencyRequest>& requests, const Snapshot& snapshot,
                      ReportFormat format);

}  // namespace rocescope
