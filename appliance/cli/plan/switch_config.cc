// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/switch_config.h"

#include <algorithm>
#include <utility>

namespace rocescope::plan {

using topology::Fabric;
using topology::NodeIndex;
using topology::PortIndex;
using topology::TapDirection;

std::string_view DirectionWord(TapDirection direction) {
  switch (direction) {
    case TapDirection::kIngress:
      return "rx";
    case TapDirection::kEgress:
      return "tx";
    case TapDirection::kBoth:
      return "both";
  }
  return "both";
}

std::vector<PortIndex> SwitchTask::SampledPorts() const {
  std::vector<PortIndex> ports;
  if (!samples) return ports;
  const topology::Node& node_here = owner();
  for (uint32_t i = 0; i < node_here.port_count; ++i) {
    if (fabric->SpeedOf(node_here.first_port + i) != 0) ports.push_back(node_here.first_port + i);
  }
  return ports;
}

std::vector<SwitchTask> SwitchTasks(const Fabric& fabric, const Plan& plan) {
  std::vector<SwitchTask> tasks;
  if (plan.options.vendor == Vendor::kNone) return tasks;
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (!fabric.node(node).IsSwitch()) continue;
    SwitchTask task = {.fabric = &fabric, .plan = &plan, .node = node};
    task.samples = std::ranges::find(plan.sflow.switches, node) != plan.sflow.switches.end();
    if (const MirrorPlan* mirrors = plan.mirrors()) {
      for (const MirrorSession& session : mirrors->sessions) {
        if (session.tap.node == node) task.sessions.push_back(&session);
      }
    }
    if (task.samples || !task.sessions.empty()) tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<SwitchConfig> SwitchConfigs(const Fabric& fabric, const Plan& plan) {
  std::vector<SwitchConfig> configs;
  const Vendor vendor = plan.options.vendor;
  for (const SwitchTask& task : SwitchTasks(fabric, plan)) {
    configs.push_back({.node = task.node,
                       .text = vendor == Vendor::kSonic ? SonicConfig(task)
                               : vendor == Vendor::kEos ? EosConfig(task)
                                                        : NxosConfig(task)});
  }
  return configs;
}

}  // namespace rocescope::plan
