// SPDX-License-Identifier: BSD-3-Clause
// Switch configuration in the vendor's syntax.
#pragma once

#include <string>
#include <vector>

#include "appliance/cli/plan/plan.h"

namespace rocescope::plan {

struct SwitchConfig {
  topology::NodeIndex node = topology::kNone;
  std::string text;
};

// One entry for each switch that mirrors or samples, in the fabric's order; empty without a vendor.
std::vector<SwitchConfig> SwitchConfigs(const topology::Fabric& fabric, const Plan& plan);

// The configuration of one switch.
struct SwitchTask {
  const topology::Fabric* fabric = nullptr;
  const Plan* plan = nullptr;
  topology::NodeIndex node = topology::kNone;
  std::vector<const MirrorSession*> sessions;
  bool samples = false;  // sFlow

  const topology::Node& owner() const { return fabric->node(node); }
  const Collector& CollectorOf(const MirrorSession& session) const {
    return plan->options.collectors[session.collector];
  }
  // The connected ports with sFlow.
  std::vector<topology::PortIndex> SampledPorts() const;
};

// One task for each switch that mirrors or samples, in the fabric's order; empty without a vendor.
std::vector<SwitchTask> SwitchTasks(const topology::Fabric& fabric, const Plan& plan);

std::string SonicConfig(const SwitchTask& task);
std::string EosConfig(const SwitchTask& task);
std::string NxosConfig(const SwitchTask& task);

// "rx", "tx" or "both".
std::string_view DirectionWord(topology::TapDirection direction);

}  // namespace rocescope::plan
