// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "appliance/common/report/fabric_report.h"
#include "appliance/common/report/table.h"
#include "base/text/quantity.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::Node;
using topology::Survey;

constexpr size_t kMaxRows = 20;

std::string Speed(uint64_t bits_per_second) {
  return bits_per_second == 0 ? "" : topology::FormatSpeed(bits_per_second);
}

std::string AddressText(const IpAddress& address) {
  return address.IsUnspecified() ? std::string() : ToString(address);
}

std::string More(size_t count) {
  return count <= kMaxRows ? ""
                           : fmt::format("  ... and {} more; use -o json for all\n",
                                         WithThousands(count - kMaxRows));
}

std::string SwitchRows(const Fabric& fabric) {
  TextTable table({{"SWITCH"},
                   {"TIER"},
                   {"POD", Align::kRight},
                   {"PORTS", Align::kRight},
                   {"INT ID", Align::kRight},
                   {"SFLOW AGENT"},
                   {"ERSPAN SOURCE"}});
  size_t count = 0;
  for (const Node& node : fabric.nodes()) {
    if (!node.IsSwitch() || ++count > kMaxRows) continue;
    table.Add({node.name, std::string(NameOf(node.tier)),
               node.pod == kNone ? "" : fmt::format("{}", node.pod),
               fmt::format("{}", node.port_count),
               node.int_switch_id == kNone ? "" : fmt::format("{}", node.int_switch_id),
               AddressText(node.sflow_agent), AddressText(node.erspan_source)});
  }
  return table.empty() ? "" : "\n" + table.Render(2) + More(count);
}

std::string NicRows(const Fabric& fabric) {
  TextTable table({{"HOST"},
                   {"NIC"},
                   {"RAIL", Align::kRight},
                   {"ADDRESS"},
                   {"SEGMENT", Align::kRight},
                   {"SWITCH PORT"},
                   {"SPEED", Align::kRight},
                   {"GPUS"}});
  for (size_t i = 0; i < std::min(kMaxRows, fabric.nics().size()); ++i) {
    const topology::Nic& nic = fabric.nic(static_cast<topology::NicIndex>(i));
    const topology::PortIndex peer = fabric.Peer(nic.port);
    std::string gpus;
    for (const topology::GpuIndex g : fabric.GpusOf(nic.host)) {
      if (fabric.gpu(g).nic != i) continue;
      gpus += fmt::format("{}{}", gpus.empty() ? "" : ", ", fabric.gpu(g).number);
    }
    const topology::NicAddress first =
        nic.addresses.empty() ? topology::NicAddress() : nic.addresses.front();
    table.Add({fabric.node(nic.host).name, nic.device, fmt::format("{}", nic.rail),
               AddressText(first.address) + (nic.addresses.size() > 1 ? ", ..." : ""),
               first.segment == 0 ? "" : fmt::format("{}", first.segment - 1),
               peer == kNone ? "not connected" : fabric.NameOf(peer),
               peer == kNone ? "" : Speed(fabric.link(fabric.port(peer).link).bits_per_second),
               gpus});
  }
  return table.empty() ? "" : "\n" + table.Render(2) + More(fabric.nics().size());
}

std::string MirrorRows(const Fabric& fabric) {
  TextTable table({{"MIRROR OF"},
                   {"SESSION", Align::kRight},
                   {"DIRECTION"},
                   {"PORTS", Align::kRight},
                   {"PORT INFO"},
                   {"EGRESS COPY"}});
  for (size_t i = 0; i < std::min(kMaxRows, fabric.taps().size()); ++i) {
    const topology::Tap& tap = fabric.tap(static_cast<topology::TapIndex>(i));
    table.Add({fabric.node(tap.node).name, fmt::format("{}", tap.session),
               std::string(NameOf(tap.direction)), fmt::format("{}", tap.ports.size()),
               tap.names_port ? "yes" : "no", tap.before_queue ? "before the queue" : ""});
  }
  return table.empty() ? "" : "\n" + table.Render(2) + More(fabric.taps().size());
}

std::string PathRows(const Fabric& fabric, const FabricPaths& shown) {
  const uint64_t count = shown.paths.Count();
  std::string text =
      fmt::format("\nPATHS from {} to {}: {}\n", fabric.NameOf(fabric.nic(shown.from).port),
                  fabric.NameOf(fabric.nic(shown.to).port), WithThousands(count));
  for (uint64_t i = 0; i < std::min(count, kMaxShownPaths); ++i) {
    text += "\n ";
    const topology::Path path = shown.paths.At(i);
    for (const topology::PortIndex port : path.hops()) {
      text += " " + fabric.NameOf(port);
    }
  }
  return text + (count == 0 ? "" : "\n");
}

}  // namespace

std::string SurveyText(const Fabric& fabric, const Survey& survey) {
  const std::string name = fabric.name().empty() ? "fabric" : fabric.name();
  const size_t hosts = survey.tiers[0].nodes;
  std::string text = fmt::format(
      "{}: {} with {}, {} and {}; {}, {}, {}\n\n", name, Counted(hosts, "host"),
      Counted(fabric.nics().size(), "NIC"), Counted(fabric.gpus().size(), "GPU"),
      Counted(survey.rails, "rail"), Counted(survey.switches, "switch"),
      Counted(fabric.links().size(), "link"), Counted(fabric.taps().size(), "mirror session"));
  TextTable table({{"TIER"},
                   {"NODES", Align::kRight},
                   {"PORTS", Align::kRight},
                   {"ATTACHED NICS", Align::kRight},
                   {"DOWN", Align::kRight},
                   {"UP", Align::kRight}});
  for (size_t i = 0; i < survey.tiers.size(); ++i) {
    const topology::TierSurvey& tier = survey.tiers[i];
    if (tier.nodes == 0) continue;
    table.Add({std::string(NameOf(static_cast<topology::Tier>(i))), WithThousands(tier.nodes),
               WithThousands(tier.ports), WithThousands(tier.plugged),
               Speed(tier.down_bits_per_second), Speed(tier.up_bits_per_second)});
  }
  text += table.Render(2);
  if (!survey.notes.empty()) text += "\nNOTES\n\n";
  for (const std::string& note : survey.notes) text += fmt::format("  {}\n", note);
  return text;
}

std::string FabricText(const Fabric& fabric, const Survey& survey,
                       const std::optional<FabricPaths>& paths) {
  std::string text = SurveyText(fabric, survey);
  text += SwitchRows(fabric) + NicRows(fabric) + MirrorRows(fabric);
  if (paths) text += PathRows(fabric, *paths);
  return text;
}

}  // namespace rocescope
