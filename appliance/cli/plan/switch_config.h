// SPDX-License-Identifier: BSD-3-Clause
// Configuration to paste into a switch, in its vendor's own words.
#pragma once

#include <string>
#include <vector>

#include "appliance/cli/plan/plan.h"

namespace rocescope::plan {

struct SwitchConfig {
  topology::NodeIndex node = topology::kNone;
  std::string text;
};

// Of each switch that mirrors or samples, in the fabric's order; none without a vendor.
std::vector<SwitchConfig> SwitchConfigs(const topology::Fabric& fabric, const Plan& plan);

// What one switch is to do.
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
  // Of its ports that are plugged in, those that sFlow is for.
  std::vector<topology::PortIndex> SampledPorts() const;
};

std::string SonicConfig(const SwitchTask& task);
std::string EosConfig(const SwitchTask& task);
std::string NxosConfig(const SwitchTask& task);

// "rx", "tx" or "both".
std::string_view DirectionWord(topology::TapDirection direction);

}  // namespace rocescope::plan
