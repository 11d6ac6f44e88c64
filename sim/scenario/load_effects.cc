// SPDX-License-Identifier: BSD-3-Clause
// Refuses faults whose settings or place leave them without any effect on this fabric.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/scenario/loader.h"
#include "topology/route.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kEthernetHeader = 14;
constexpr uint32_t kRoceHeaders = 20 + 8 + 12 + 4;  // IPv4, UDP, BTH and ICRC
constexpr uint32_t kRethAndImmediate = 16 + 4;

// Whether the switch has several equal-cost links to a NIC.
bool HasEqualPaths(const topology::Fabric& fabric, topology::NodeIndex at) {
  topology::Routes routes(fabric);
  std::set<topology::NodeIndex> seen;
  for (topology::NicIndex nic = 0; nic < fabric.nics().size(); ++nic) {
    const topology::NodeIndex edge = routes.EdgeOf(nic);
    if (edge == topology::kNone || !seen.insert(edge).second) continue;
    if (routes.NextHops(at, nic).size() > 1) return true;
  }
  return false;
}

// Whether packets of another NIC to this one pass the switch.
bool IsOnPath(const topology::Fabric& fabric, topology::NodeIndex at, topology::NicIndex nic) {
  topology::Routes routes(fabric);
  std::set<topology::NodeIndex> seen;
  std::vector<topology::NodeIndex> next;
  const auto visit = [&](topology::NodeIndex node) {
    if (node != topology::kNone && seen.insert(node).second) next.push_back(node);
  };
  for (topology::NicIndex other = 0; other < fabric.nics().size(); ++other) {
    if (other != nic) visit(routes.EdgeOf(other));
  }
  while (!next.empty()) {
    const topology::NodeIndex node = next.back();
    next.pop_back();
    if (!fabric.node(node).IsSwitch()) continue;
    if (node == at && routes.Distance(node, nic) != topology::kNone) return true;
    for (const topology::PortIndex port : routes.NextHops(node, nic)) visit(fabric.PeerNode(port));
  }
  return false;
}

}  // namespace

// In the flow model only full data packets are cut, and TCP loses nothing.
uint32_t Loader::LongestIpPacket() const {
  const uint32_t full = scenario_.network.nics.mtu + kRoceHeaders;
  if (scenario_.model == Model::kFlow) return full;
  constexpr uint32_t kLongestTcp = 1500;
  return std::max(full + kRethAndImmediate, scenario_.foreign.empty() ? 0 : kLongestTcp);
}

void Loader::CheckEffect(const YamlNode& node, const FaultOptions& fault) {
  const topology::Fabric& fabric = *scenario_.fabric;
  const SwitchOptions& switches = scenario_.network.switches;
  const uint32_t longest = LongestIpPacket();
  // Their packets take other paths than the declared ones.
  const bool has_detours = std::ranges::any_of(scenario_.faults, [](const FaultOptions& other) {
    return other.kind == FaultKind::kSwappedCables || other.kind == FaultKind::kPfcDeadlock;
  });
  const auto refuse = [&](std::string_view why) {
    errors_.Add(node, fmt::format("{} has no effect: {}", InfoOf(fault.kind).name, why));
  };
  switch (fault.kind) {
    case FaultKind::kMisconfiguredAlpha:
      if (fault.alpha < switches.buffer.alpha) return;
      return refuse(
          fmt::format("alpha must be below that of the network, {}", switches.buffer.alpha));
    case FaultKind::kMisconfiguredEcn:
      if (fault.ecn_minimum > switches.ecn.minimum || fault.ecn_maximum > switches.ecn.maximum) {
        return;
      }
      return refuse(
          fmt::format("the switch marks too late only if ecn_minimum or ecn_maximum is "
                      "above that of the network, {} and {} bytes",
                      switches.ecn.minimum, switches.ecn.maximum));
    case FaultKind::kPolarisation:
      if (has_detours || HasEqualPaths(fabric, fault.node)) return;
      return refuse(fmt::format("{} has no equal-cost links to choose from: use another switch",
                                fabric.node(fault.node).name));
    case FaultKind::kMtuMismatch:
      if (fault.mtu < std::min(longest, switches.mtu)) return;
      return refuse(
          fmt::format("mtu must be below {}, the longest IP packet that hosts send and "
                      "switches forward",
                      std::min(longest, switches.mtu)));
    case FaultKind::kGrayLoss:
    case FaultKind::kBitErrors:
      if (fault.least_length <= longest + kEthernetHeader) return;
      return refuse(
          fmt::format("least_length must be at most {}, the bytes of the longest frame "
                      "that hosts send",
                      longest + kEthernetHeader));
    case FaultKind::kSlowReceiver: {
      const topology::LinkIndex link = fabric.port(fabric.nic(fault.nic).port).link;
      const uint64_t speed = fabric.link(link).bits_per_second;
      if (fault.rate < static_cast<double>(speed)) return;
      return refuse(fmt::format("rate must be below the speed of the NIC's link, {}",
                                topology::FormatSpeed(speed)));
    }
    case FaultKind::kBlackhole:
      if (has_detours || IsOnPath(fabric, fault.node, fault.nic)) return;
      return refuse(fmt::format("no packet to the NIC passes {}: use a switch on its paths",
                                fabric.node(fault.node).name));
    default:
      return;
  }
}

}  // namespace rocescope::sim
