// SPDX-License-Identifier: BSD-3-Clause
// The plan as a whole: what to mirror, what to sample, and what of it will be seen. Pure: a fabric
// and options in, a struct out; rendered by plan_report.h, written for switches by switch_config.h.
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
  std::vector<MirrorPlan> choices;  // one of each, in MirrorChoice's order
  std::optional<size_t> chosen;     // of them; none if nothing fits and nothing was asked for
  SflowPlan sflow;
  size_t int_switches = 0;  // that have an INT id in the fabric
  // Sample one packet in so many, and all ports to NICs fit: 1 if they do without, 0 if the
  // platform does not sample.
  uint64_t nics_fit_sampled = 1;
  std::vector<std::string> notes;  // what else its operator must know, a sentence or two each

  const MirrorPlan* mirrors() const { return chosen ? &choices[*chosen] : nullptr; }
};

// The error says which option or which switch's line in the fabric is to be changed.
Result<Plan> MakePlan(const topology::Fabric& fabric, const PlanOptions& options);

// The fabric with the planned mirrors in place of those that it had.
Result<topology::Fabric> PlannedFabric(const topology::Fabric& fabric, const Plan& plan);
// Its section `mirrors`, to be pasted into the fabric's file; empty without mirrors.
Result<std::string> MirrorsSection(const topology::Fabric& fabric, const Plan& plan);
// What `rocescope run` takes, with the fabric in `topology_file`.
std::string ApplianceYaml(const Plan& plan, std::string_view topology_file);

}  // namespace rocescope::plan
