// SPDX-License-Identifier: BSD-3-Clause
// Cisco NX-OS, according to the Cisco Nexus 9000 Series NX-OS System Management Configuration
// Guide, "Configuring ERSPAN" (monitor erspan origin, monitor session type erspan-source,
// erspan-id, header-type, mtu) and "Configuring sFlow" (feature sflow, one collector, one rate).
#include <fmt/format.h>

#include "appliance/cli/plan/switch_config.h"

namespace rocescope::plan {
namespace {

using topology::PortIndex;

void AddNxosMirrors(const SwitchTask& task, std::string& text) {
  const PacketShape& shape = task.plan->settings.shape;
  text += fmt::format("monitor erspan origin ip-address {} global\n",
                      ToString(task.owner().erspan_source));
  for (const MirrorSession* session : task.sessions) {
    text += fmt::format("monitor session {} type erspan-source\n", session->tap.session);
    text += "  description rocescope\n";
    if (shape.erspan == 3) text += "  header-type 3\n";
    text += fmt::format("  erspan-id {}\n", session->tap.session);
    // vrf: the one in which the collector's address is reachable.
    text += "  vrf default\n";
    text += fmt::format("  destination ip {}\n", ToString(task.CollectorOf(*session).address));
    text += "  ip ttl 64\n  ip dscp 0\n";
    for (const PortIndex port : session->tap.ports) {
      text += fmt::format("  source interface {} {}\n", task.NameOf(port),
                          DirectionWord(session->tap.direction));
    }
    if (shape.truncation != 0) text += fmt::format("  mtu {}\n", shape.truncation);
    text += "  no shut\n";
  }
}

// All ports have one rate.
uint64_t RateOfFirst(const SwitchTask& task) {
  const auto ports = task.SampledPorts();
  return ports.empty() ? 0 : task.plan->sflow.RateOf(task.fabric->SpeedOf(ports.front()));
}

void AddNxosSflow(const SwitchTask& task, std::string& text) {
  const PlanOptions& options = task.plan->options;
  const auto ports = task.SampledPorts();
  text += fmt::format(
      "feature sflow\n"
      "sflow sampling-rate {}\n"
      "sflow max-sampled-size 128\n"
      "sflow counter-poll-interval {}\n"
      "sflow collector-ip {} vrf default\n"
      "sflow collector-port {}\n"
      "sflow agent-ip {}\n",
      RateOfFirst(task), options.polling_seconds, ToString(options.telemetry), kSflowPort,
      ToString(task.owner().sflow_agent));
  for (const PortIndex port : ports) {
    text += fmt::format("sflow data-source interface {}\n", task.NameOf(port));
  }
}

}  // namespace

std::string NxosConfig(const SwitchTask& task) {
  std::string text = ConfigHeading(task, "!");
  if (!task.sessions.empty()) AddNxosMirrors(task, text);
  if (task.samples) AddNxosSflow(task, text);
  return text;
}

std::string NxosRollback(const SwitchTask& task) {
  const PlanOptions& options = task.plan->options;
  std::string text = RollbackHeading(task, "!");
  for (const MirrorSession* session : task.sessions) {
    text += fmt::format("no monitor session {}\n", session->tap.session);
  }
  if (!task.sessions.empty()) {
    text += fmt::format(
        "! Omit this line if other ERSPAN sessions use the origin.\n"
        "no monitor erspan origin ip-address {} global\n",
        ToString(task.owner().erspan_source));
  }
  if (!task.samples) return text;
  for (const PortIndex port : task.SampledPorts()) {
    text += fmt::format("no sflow data-source interface {}\n", task.NameOf(port));
  }
  text += fmt::format(
      "no sflow collector-ip {} vrf default\n"
      "no sflow collector-port {}\n"
      "no sflow agent-ip {}\n"
      "no sflow counter-poll-interval {}\n"
      "no sflow max-sampled-size 128\n"
      "no sflow sampling-rate {}\n"
      "! Omit this line if the feature was enabled before.\n"
      "no feature sflow\n",
      ToString(options.telemetry), kSflowPort, ToString(task.owner().sflow_agent),
      options.polling_seconds, RateOfFirst(task));
  return text;
}

}  // namespace rocescope::plan
