// SPDX-License-Identifier: BSD-3-Clause
// Graphviz (graphviz.org/doc/info/lang.html). Names contain neither quotes nor control characters
// (topology/check.h), so only backslashes need escaping.
#include <fmt/format.h>

#include "appliance/common/report/fabric_report.h"
#include "base/text/quantity.h"

namespace rocescope {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '\\' ? 2 : 1, c);
  return quoted + "\"";
}

}  // namespace

std::string FabricDot(const topology::Fabric& fabric) {
  std::string dot =
      fmt::format("graph {} {{\n  rankdir=BT;\n  node [shape=box];\n  edge [fontsize=8];\n",
                  Quoted(fabric.name()));
  for (size_t i = 0; i < topology::kTierCount; ++i) {
    const auto tier = static_cast<topology::Tier>(i);
    std::string nodes;
    for (const topology::Node& node : fabric.nodes()) {
      if (node.tier != tier) continue;
      nodes += fmt::format("    {} [function={}];\n", Quoted(node.name), NameOf(tier));
    }
    if (!nodes.empty()) dot += fmt::format("  {{\n    rank=same;\n{}  }}\n", nodes);
  }
  for (const topology::Link& link : fabric.links()) {
    const topology::Port& a = fabric.port(link.ends[0]);
    const topology::Port& b = fabric.port(link.ends[1]);
    dot += fmt::format("  {} -- {} [taillabel={}, headlabel={}, label={}];\n",
                       Quoted(fabric.node(a.node).name), Quoted(fabric.node(b.node).name),
                       Quoted(a.name), Quoted(b.name),
                       Quoted(topology::FormatSpeed(link.bits_per_second)));
  }
  return dot + "}\n";
}

}  // namespace rocescope
