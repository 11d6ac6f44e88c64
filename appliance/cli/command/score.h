// SPDX-License-Identifier: BSD-3-Clause
// `rocescope score`: a simulated run's answers against its truth, or the sum of many scores.
#pragma once

#include <string>
#include <vector>

#include "appliance/cli/command/analysis.h"

namespace rocescope {

struct ScoreRunOptions {
  std::string path;                // a run directory, or a folder of scores
  std::vector<std::string> views;  // by name, or a group's; empty: all whose telemetry the run has
  std::string priors;  // YAML: how often kinds of faults occur; empty: no figures by them
  std::string report;  // of a replay, as JSON, in place of one; of one view
  ReportFormat format = ReportFormat::kText;
};

// Prints to standard output; messages go to standard error. 0: every bar holds, 1: one is missed,
// 2: an error.
int RunScore(const ScoreRunOptions& options);

}  // namespace rocescope
