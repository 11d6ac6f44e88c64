// SPDX-License-Identifier: BSD-3-Clause
// The complete plan: what to mirror, what to sample, and the resulting coverage. Pure function of a
// fabric and options; plan_report.h renders it, switch_config.h writes switch configuration.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/plan/mirror_plan.h"
#include "appliance/cli/plan/sflow_plan.h"
#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::plan {

struct Plan {
  PlanOptions options;
  Settings settings;
  std::vector<MirrorPlan> choices;  // one of each, in the order of MirrorChoice
  std::optional<size_t>
      chosen;  // the selected one; unset if nothing fits and no choice was requested
  SflowPlan sflow;
  size_t int_switches = 0;  // switches with an INT ID in the fabric
  // The sampling divisor with which all ports to NICs fit: 1 without sampling, 0 if the platform
  // does not sample.
  uint64_t nics_fit_sampled = 1;
  MirrorPlan without_mirrors;         // no sessions; for `need`
  std::vector<std::string> warnings;  // what to correct, the most severe first
  std::vector<std::string> notes;     // notes for the operator

  const MirrorPlan* mirrors() const { return chosen ? &choices[*chosen] : nullptr; }
  // What the appliance needs for the chosen sessions.
  const MachineNeed& need() const { return chosen ? choices[*chosen].need : without_mirrors.need; }
};

// The error names the option, or the switch in the topology file, to change.
Result<Plan> MakePlan(const topology::Fabric& fabric, const PlanOptions& options);

// Returns the fabric with the planned mirror sessions instead of its own.
Result<topology::Fabric> PlannedFabric(const topology::Fabric& fabric, const Plan& plan);
// The section `mirrors` for the topology file; empty without mirror sessions.
Result<std::string> MirrorsSection(const topology::Fabric& fabric, const Plan& plan);
// The configuration for `rocescope run`, with the fabric in `topology_file`.
std::string ApplianceYaml(const Plan& plan, std::string_view topology_file);

}  // namespace rocescope::plan
