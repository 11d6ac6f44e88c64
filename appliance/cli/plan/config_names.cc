// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/config_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "appliance/cli/plan/switch_config.h"

namespace rocescope::plan {
namespace {

using topology::Fabric;
using topology::PortIndex;

constexpr std::string_view kExpected =
    "a switch configuration accepts names of letters, digits and . / : _ - that start with a "
    "letter or a digit";

Status CheckPorts(const SwitchTask& task, const std::vector<PortIndex>& ports) {
  for (const PortIndex port : ports) {
    const std::string& name = task.fabric->port(port).name;
    if (IsPlainName(name)) continue;
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("switch \"{}\", port \"{}\": {}; in the topology file, use the port's name as "
                    "the switch reports it",
                    task.owner().name, name, kExpected));
  }
  return {};
}

}  // namespace

bool IsPlainName(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && is_alphanumeric(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_alphanumeric(c) || std::string_view("./:_-").find(c) != std::string_view::npos;
  });
}

Status CheckConfigNames(const Fabric& fabric, const Plan& plan) {
  for (const SwitchTask& task : SwitchTasks(fabric, plan)) {
    if (!IsPlainName(task.owner().name)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("switch \"{}\": {}; rename it in the topology file",
                                   task.owner().name, kExpected));
    }
    for (const MirrorSession* session : task.sessions) {
      if (Status ports = CheckPorts(task, session->tap.ports); !ports) return ports;
    }
    if (Status ports = CheckPorts(task, task.SampledPorts()); !ports) return ports;
  }
  return {};
}

}  // namespace rocescope::plan
