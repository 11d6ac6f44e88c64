// SPDX-License-Identifier: BSD-3-Clause
// `rocescope plan`: plans mirror sessions and sampling for a fabric.
#pragma once

#include <string>

#include "appliance/cli/command/analysis.h"
#include "appliance/cli/plan/options.h"

namespace rocescope {

struct PlanRunOptions {
  std::string fabric;  // a file; "-" is standard input
  std::string folder;  // output directory for the configuration files; empty: print them
  plan::PlanOptions plan;
  ReportFormat format = ReportFormat::kText;
};

// Prints the plan to standard output and messages to standard error. Returns an ExitCode:
// kExitUsage if the options do not fit the fabric, the load exceeds the stated machine, a name
// cannot be written to a switch configuration, or the directory is not empty; kExitUnreadable if
// the file is not a fabric, kExitOutput if writing fails.
int RunPlan(const PlanRunOptions& options);

}  // namespace rocescope
