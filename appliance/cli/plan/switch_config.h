// SPDX-License-Identifier: BSD-3-Clause
// Switch configuration in the vendor's syntax.
#pragma once

#include <string>
#include <vector>

#include "appliance/cli/plan/plan.h"
#include "appliance/cli/plan/port_name.h"

namespace rocescope::plan {

struct SwitchConfig {
  topology::NodeIndex node = topology::kNone;
  std::string text;
  std::string rollback;  // commands that remove what `text` creates
};

// One entry for each switch that mirrors or samples, in the fabric's order; empty without a vendor.
std::vector<SwitchConfig> SwitchConfigs(const topology::Fabric& fabric, const Plan& plan);

// The configuration of one switch.
struct SwitchTask {
  const topology::Fabric* fabric = nullptr;
  const Plan* plan = nullptr;
  topology::NodeIndex node = topology::kNone;
  std::vector<const MirrorSession*> sessions;
  bool samples = false;              // sFlow
  std::vector<PortName> port_names;  // of all ports, in their order

  const topology::Node& owner() const { return fabric->node(node); }
  const Collector& CollectorOf(const MirrorSession& session) const {
    return plan->options.collectors[session.collector];
  }
  // The connected ports with sFlow.
  std::vector<topology::PortIndex> SampledPorts() const;
  // The name of a port of this switch in its configuration.
  const std::string& NameOf(topology::PortIndex port) const {
    return port_names[port - owner().first_port].text;
  }
  // The names of ports in the configuration that the platform cannot have, in the form
  // "Ethernet[1-4]"; empty if there is none.
  std::string InvalidPorts() const;
};

// One task for each switch that mirrors or samples, in the fabric's order; empty without a vendor.
std::vector<SwitchTask> SwitchTasks(const topology::Fabric& fabric, const Plan& plan);

std::string SonicConfig(const SwitchTask& task);
std::string EosConfig(const SwitchTask& task);
std::string NxosConfig(const SwitchTask& task);
// Removes sessions before what they use, and stops sampling before its settings are removed.
std::string SonicRollback(const SwitchTask& task);
std::string EosRollback(const SwitchTask& task);
std::string NxosRollback(const SwitchTask& task);

// The first lines of a configuration or of its rollback: the switch, and ports to correct.
// `comment` begins a comment: "!" or "#".
std::string ConfigHeading(const SwitchTask& task, std::string_view comment);
std::string RollbackHeading(const SwitchTask& task, std::string_view comment);

// "rx", "tx" or "both".
std::string_view DirectionWord(topology::TapDirection direction);

}  // namespace rocescope::plan
