// SPDX-License-Identifier: BSD-3-Clause
// SONiC's command line, according to sonic-net/sonic-utilities doc/Command-Reference.md: "config
// mirror_session erspan add <name> <src_ip> <dst_ip> <dscp> <ttl> [gre_type] [queue] [src_port]
// [direction]", src_port a list with commas; "config sflow ...". --sample_rate and --truncate_size
// according to sonic-net/SONiC doc/SONiC_Port_Mirroring_HLD.md.
#include <fmt/format.h>

#include "appliance/cli/plan/switch_config.h"

namespace rocescope::plan {
namespace {

using topology::PortIndex;

// One word for a shell, whatever it contains. CheckConfigNames refuses unusual names already.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string PortList(const SwitchTask& task, const std::vector<PortIndex>& ports) {
  std::string list;
  for (const PortIndex port : ports) list += (list.empty() ? "" : ",") + task.NameOf(port);
  return list;
}

void AddSonicMirrors(const SwitchTask& task, std::string& text) {
  const PacketShape& shape = task.plan->settings.shape;
  if (shape.one_in > 1) {
    text +=
        "# The following must be \"true\": PORT_INGRESS_SAMPLE_MIRROR_CAPABLE, for egress\n"
        "# PORT_EGRESS_SAMPLE_MIRROR_CAPABLE, and with --truncate_size "
        "SAMPLEPACKET_TRUNCATION_CAPABLE.\n"
        "redis-cli -n 6 hgetall 'SWITCH_CAPABILITY|switch'\n";
  } else {
    text += "# Packets are mirrored in full: SONiC can truncate only sampled copies.\n";
  }
  for (const MirrorSession* session : task.sessions) {
    text += fmt::format(
        "sudo config mirror_session erspan add rocescope {} {} 0 64 0x88be 0 {} {}",
        ToString(task.owner().erspan_source), ToString(task.CollectorOf(*session).address),
        Quoted(PortList(task, session->tap.ports)), DirectionWord(session->tap.direction));
    if (shape.one_in > 1) text += fmt::format(" --sample_rate {}", shape.one_in);
    if (shape.truncation != 0) text += fmt::format(" --truncate_size {}", shape.truncation);
    text += '\n';
  }
}

void AddSonicSflow(const SwitchTask& task, std::string& text) {
  const PlanOptions& options = task.plan->options;
  text += fmt::format(
      "sudo config feature state sflow enabled\n"
      "sudo config sflow collector add rocescope {} --port {}\n"
      "sudo config sflow polling-interval {}\n"
      "# The interface with the address {}; Loopback0 on most switches.\n"
      "sudo config sflow agent-id add Loopback0\n"
      "sudo config sflow enable\n",
      ToString(options.telemetry), kSflowPort, options.polling_seconds,
      ToString(task.owner().sflow_agent));
  for (const PortIndex port : task.SampledPorts()) {
    text +=
        fmt::format("sudo config sflow interface sample-rate {} {}\n", Quoted(task.NameOf(port)),
                    task.plan->sflow.RateOf(task.fabric->SpeedOf(port)));
  }
}

}  // namespace

std::string SonicConfig(const SwitchTask& task) {
  std::string text = ConfigHeading(task, "#");
  if (!task.sessions.empty()) AddSonicMirrors(task, text);
  if (task.samples) AddSonicSflow(task, text);
  text += "# After checking `show mirror_session` and `show sflow`:\n";
  text += "sudo config save -y\n";
  return text;
}

// The default of the polling interval is 20 s (sonic-net/SONiC doc/sflow/sflow_hld.md).
std::string SonicRollback(const SwitchTask& task) {
  std::string text = RollbackHeading(task, "#");
  if (!task.sessions.empty()) text += "sudo config mirror_session remove rocescope\n";
  if (task.samples) {
    text += "sudo config sflow disable\n";
    for (const PortIndex port : task.SampledPorts()) {
      text += fmt::format("sudo config sflow interface sample-rate {} default\n",
                          Quoted(task.NameOf(port)));
    }
    text +=
        "sudo config sflow agent-id del\n"
        "sudo config sflow collector del rocescope\n"
        "sudo config sflow polling-interval 20\n"
        "# Omit this line if the feature was enabled before.\n"
        "sudo config feature state sflow disabled\n";
  }
  text += "sudo config save -y\n";
  return text;
}

}  // namespace rocescope::plan
