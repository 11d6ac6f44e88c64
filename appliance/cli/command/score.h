// SPDX-License-Identifier: BSD-3-Clause
// `rocescope score`: scores a simulated run against its ground truth, or summarises many scores.
#pragma once

#include <string>
#include <vector>

#include "appliance/cli/command/analysis.h"

namespace rocescope {

struct ScoreRunOptions {
  std::string path;  // a run directory, or a directory of scores
  std::vector<std::string>
      views;           // names of views or groups; empty: all views for which the run has telemetry
  std::string priors;  // YAML with the frequency of each fault type; empty: no weighted figures
  std::string report;  // JSON report of a replay, to score instead of replaying; for one view
  bool summary = false;  // with JSON: the figures of all runs instead of the score of each run
  ReportFormat format = ReportFormat::kText;
};

// Prints to standard output; messages go to standard error. Returns 0 if all goals are met, 1
// if one is missed, 2 on an error, 3 if no goal applies to a measured figure.
int RunScore(const ScoreRunOptions& options);

}  // namespace rocescope
