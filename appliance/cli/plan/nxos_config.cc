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
      text += fmt::format("  source interface {} {}\n", task.fabric->port(port).name,
                          DirectionWord(session->tap.direction));
    }
    if (shape.truncation != 0) text += fmt::format("  mtu {}\n", shape.truncation);
    text += "  no shut\n";
  }
}

void AddNxosSflow(const SwitchTask& task, std::string& text) {
  const PlanOptions& options = task.plan->options;
  const auto ports = task.SampledPorts();
  const uint64_t rate =
      ports.empty() ? 0 : task.plan->sflow.RateOf(task.fabric->SpeedOf(ports.front()));
  text += fmt::format(
      "feature sflow\n"
      "sflow sampling-rate {}\n"
      "sflow max-sampled-size 128\n"
      "sflow counter-poll-interval {}\n"
      "sflow collector-ip {} vrf default\n"
      "sflow collector-port {}\n"
      "sflow agent-ip {}\n",
      rate, options.polling_seconds, ToString(options.telemetry), kSflowPort,
      ToString(task.owner().sflow_agent));
  for (const PortIndex port : ports) {
    text += fmt::format("sflow data-source interface {}\n", task.fabric->port(port).name);
  }
}

}  // namespace

std::string NxosConfig(const SwitchTask& task) {
  std::string text = fmt::format("! {}: Cisco NX-OS\n", task.owner().name);
  if (!task.sessions.empty()) AddNxosMirrors(task, text);
  if (task.samples) AddNxosSflow(task, text);
  return text;
}

}  // namespace rocescope::plan
