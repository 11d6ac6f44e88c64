// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "appliance/cli/plan/plan_section.h"
#include "appliance/cli/plan/switch_config.h"
#include "base/count_text.h"
#include "base/text/name_range.h"

namespace rocescope::plan {

using topology::Fabric;
using topology::NodeIndex;

std::string NamesOf(const Fabric& fabric, const std::vector<NodeIndex>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodeIndex node : nodes) names.push_back(fabric.node(node).name);
  return topology::CompressNames(names);
}

namespace {

std::string AnswerText(const Fabric& fabric, const Plan& plan) {
  const MirrorPlan* mirrors = plan.mirrors();
  if (mirrors == nullptr) return "MIRRORS: none; no choice fits\n";
  std::vector<NodeIndex> nodes;
  for (const MirrorSession& session : mirrors->sessions) {
    if (nodes.empty() || nodes.back() != session.tap.node) nodes.push_back(session.tap.node);
  }
  std::string text =
      fmt::format("MIRRORS: {} ({}): {} of {} in {}; the fullest collector is loaded to {}\n",
                  WordOf(mirrors->choice), MeaningOf(mirrors->choice),
                  Counted(mirrors->ports, "port"), NamesOf(fabric, nodes),
                  Counted(mirrors->sessions.size(), "session"), PerCent(mirrors->fullest));
  const PacketShape& shape = plan.settings.shape;
  text += fmt::format(
      "\n"
      "  size of copies: {}, after {} bytes of ERSPAN type {} headers; a full packet of {} bytes "
      "gives a copy of {}\n",
      shape.truncation == 0 ? std::string("complete packets")
                            : fmt::format("the first {} bytes", shape.truncation),
      MirrorHeaders(shape.erspan), std::string(shape.erspan, 'I'), DataFrame(shape.path_mtu),
      CopyFrame(shape));
  text += fmt::format(
      "  assumptions: every link {} utilised in each direction, full RoCE packets with MTU {}, one "
      "ACK for every {}{}\n",
      PerCent(plan.options.utilisation), shape.path_mtu, Counted(shape.packets_per_ack, "packet"),
      shape.one_in > 1 ? fmt::format(", one packet in {} mirrored", shape.one_in) : "");
  return text;
}

std::string Indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += fmt::format("    {}\n", text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

Result<std::string> PastedText(const Fabric& fabric, const Plan& plan) {
  const Result<std::string> mirrors = MirrorsSection(fabric, plan);
  if (!mirrors) return mirrors;
  std::string text;
  if (!mirrors->empty()) {
    text += "\nFABRIC FILE: replace the section mirrors with\n\n" + Indented(*mirrors);
  }
  text += "\nappliance.yaml\n\n" + Indented(ApplianceYaml(plan, "fabric.yaml"));
  const std::vector<SwitchConfig> configs = SwitchConfigs(fabric, plan);
  if (configs.empty()) {
    return text + "\nUse --vendor sonic, eos or nxos to generate the switch configuration.\n";
  }
  const std::string& name = fabric.node(configs.front().node).name;
  text += fmt::format(
      "\nSWITCH CONFIGURATION of {}; -d DIR writes this and the rollback for each of {}\n\n", name,
      Counted(configs.size(), "switch"));
  text += Indented(configs.front().text);
  text += fmt::format("\nROLLBACK of {}: removes this configuration\n\n", name);
  return text + Indented(configs.front().rollback);
}

}  // namespace

Result<std::string> PlanText(const Fabric& fabric, const Plan& plan, bool pasted) {
  std::string text;
  if (!plan.warnings.empty()) {
    text = "WARNINGS\n\n";
    for (const std::string& warning : plan.warnings) text += fmt::format("  - {}\n", warning);
    text += '\n';
  }
  text += AnswerText(fabric, plan) + ChoicesText(plan) + CollectorsText(plan) +
          SessionsText(fabric, plan) + SeenText(plan) + SflowText(fabric, plan) + IntText(plan) +
          "\nNOTES\n\n";
  for (const std::string& note : plan.notes) text += fmt::format("  - {}\n", note);
  if (!pasted) return text;
  Result<std::string> below = PastedText(fabric, plan);
  if (!below) return below;
  return text + *below;
}

}  // namespace rocescope::plan
