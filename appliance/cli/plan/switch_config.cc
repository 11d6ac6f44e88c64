// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/switch_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text/name_range.h"

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

std::string SwitchTask::InvalidPorts() const {
  std::set<PortIndex> used;
  for (const MirrorSession* session : sessions) {
    used.insert(session->tap.ports.begin(), session->tap.ports.end());
  }
  for (const PortIndex port : SampledPorts()) used.insert(port);
  std::vector<std::string> invalid;
  for (const PortIndex port : used) {
    const PortName& name = port_names[port - owner().first_port];
    if (!name.is_valid) invalid.push_back(name.text);
  }
  return invalid.empty() ? std::string() : topology::CompressNames(invalid);
}

std::string ConfigHeading(const SwitchTask& task, std::string_view comment) {
  const Platform& platform = *task.plan->settings.platform;
  std::string text = fmt::format("{} {}: {}\n", comment, task.owner().name, platform.title);
  const std::string invalid = task.InvalidPorts();
  if (!invalid.empty()) {
    text += fmt::format("{} Invalid port names for {} (valid: {}), replace them: {}\n", comment,
                        platform.title, platform.port_form, invalid);
  }
  return text;
}

std::string RollbackHeading(const SwitchTask& task, std::string_view comment) {
  std::string text = ConfigHeading(task, comment);
  text +=
      fmt::format("{} Rollback: removes what the configuration of this plan creates.\n", comment);
  if (task.samples) {
    text += fmt::format(
        "{} Settings of sFlow return to their defaults: restore earlier settings by hand.\n",
        comment);
  }
  return text;
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
    if (!task.samples && task.sessions.empty()) continue;
    task.port_names = PortNamesOf(fabric, node, plan.options.vendor);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<SwitchConfig> SwitchConfigs(const Fabric& fabric, const Plan& plan) {
  std::vector<SwitchConfig> configs;
  for (const SwitchTask& task : SwitchTasks(fabric, plan)) {
    SwitchConfig config = {.node = task.node};
    switch (plan.options.vendor) {
      case Vendor::kNone:
        break;
      case Vendor::kSonic:
        config.text = SonicConfig(task);
        config.rollback = SonicRollback(task);
        break;
      case Vendor::kEos:
        config.text = EosConfig(task);
        config.rollback = EosRollback(task);
        break;
      case Vendor::kNxos:
        config.text = NxosConfig(task);
        config.rollback = NxosRollback(task);
        break;
    }
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace rocescope::plan
