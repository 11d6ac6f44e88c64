// SPDX-License-Identifier: BSD-3-Clause
// Arista EOS, according to the EOS User Manual, "Port Mirroring" ("monitor session NAME source
// INTERFACE DIRECTION", "destination tunnel mode gre source ... destination ...", "truncate",
// "sample") and "sFlow"; EOS Central, "Advanced Mirroring Features".
#include <fmt/format.h>

#include "appliance/cli/plan/switch_config.h"

namespace rocescope::plan {

using topology::PortIndex;

std::string EosConfig(const SwitchTask& task) {
  const PacketShape& shape = task.plan->settings.shape;
  const PlanOptions& options = task.plan->options;
  std::string text = ConfigHeading(task, "!");
  for (const MirrorSession* session : task.sessions) {
    for (const PortIndex port : session->tap.ports) {
      text += fmt::format("monitor session rocescope source {} {}\n", task.NameOf(port),
                          DirectionWord(session->tap.direction));
    }
    if (shape.truncation != 0) {
      text += fmt::format(
          "! If this is rejected, use `truncate` without a size, and run `rocescope plan` again "
          "with --truncate set to the length to which the platform truncates.\n"
          "monitor session rocescope truncate size {}\n",
          shape.truncation);
    }
    if (shape.one_in > 1) {
      text += fmt::format("monitor session rocescope sample {}\n", shape.one_in);
    }
    text += fmt::format(
        "monitor session rocescope destination tunnel mode gre source {} destination {}\n",
        ToString(task.owner().erspan_source), ToString(task.CollectorOf(*session).address));
  }
  if (task.samples) {
    const auto ports = task.SampledPorts();
    const uint64_t rate =
        ports.empty() ? 0 : task.plan->sflow.RateOf(task.fabric->SpeedOf(ports.front()));
    text += fmt::format(
        "sflow sample {}\n"
        "sflow polling-interval {}\n"
        "sflow destination {} {}\n"
        "sflow source {}\n"
        "sflow run\n",
        rate, options.polling_seconds, ToString(options.telemetry), kSflowPort,
        ToString(task.owner().sflow_agent));
  }
  return text;
}

// The form with `default` restores the default value, also where `no` would disable a function.
std::string EosRollback(const SwitchTask& task) {
  const PlanOptions& options = task.plan->options;
  std::string text = RollbackHeading(task, "!");
  if (!task.sessions.empty()) text += "no monitor session rocescope\n";
  if (task.samples) {
    text += fmt::format(
        "no sflow run\n"
        "no sflow destination {} {}\n"
        "default sflow source\n"
        "default sflow polling-interval\n"
        "default sflow sample\n",
        ToString(options.telemetry), kSflowPort);
  }
  return text;
}

}  // namespace rocescope::plan
