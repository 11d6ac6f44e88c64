// SPDX-License-Identifier: BSD-3-Clause
// Runs a scenario with the flow model and writes its run directory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/fault/injector.h"
#include "sim/flow/flow_sflow.h"
#include "sim/profile/apply.h"
#include "sim/profile/profile.h"
#include "sim/profile/transform.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {

struct FlowRunOptions {
  std::string directory;  // created if it does not exist; an earlier run in it is replaced
  bool record = false;    // write the exact history, for `rocescope-sim profile`
  // Find the jobs that each fault affects; this needs one more run for each visible fault.
  bool victims = true;
  Profile profile;  // how the counters are read; times are not scaled
  std::vector<ProfileOverride> overrides;
};

struct FlowRunReport {
  uint64_t frames = 0;  // sent by NICs
  std::vector<Injector::Happened> faults;
  TransformReport counters;
  FlowSflowReport sflow;
};

struct FlowRunProgress {
  std::function<void(SimTime now)> run;
  std::function<void(size_t done, size_t all)> victims;
};

// Writes counters, sFlow, NCCL logs, scheduler data and the truth as the scenario says, but no
// mirrored frames and no INT reports. kInvalidArgument: the flow model cannot simulate the
// scenario, or the profile does not fit the run, and nothing was written; or the run has too many
// sFlow samples.
Result<FlowRunReport> RunFlowModel(const Scenario& scenario, const FlowRunOptions& options,
                                   const FlowRunProgress& progress);

// Opens the exact history of a run of the flow model that was written with `record`. Use each
// returned opener for one call of ApplyProfile only, with `scale` 1.
OpenRecording HistoryOpener();

}  // namespace rocescope::sim
