// SPDX-License-Identifier: BSD-3-Clause
// `rocescope plan`: which mirrors and samples to set so that the appliance sees a fabric.
#pragma once

#include <string>

#include "appliance/cli/command/analysis.h"
#include "appliance/cli/plan/options.h"

namespace rocescope {

struct PlanRunOptions {
  std::string fabric;  // a file; "-" is standard input
  std::string folder;  // for what is to be pasted, one file each; empty: printed
  plan::PlanOptions plan;
  ReportFormat format = ReportFormat::kText;
};

// Prints to standard output, messages to standard error, and returns an ExitCode: kExitUsage where
// options do not fit the fabric or the folder is not empty, kExitUnreadable where the file is no
// fabric, kExitOutput where nothing can be written.
int RunPlan(const PlanRunOptions& options);

}  // namespace rocescope
