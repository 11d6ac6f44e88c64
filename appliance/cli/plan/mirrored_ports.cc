// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/mirrored_ports.h"

#include <algorithm>

namespace rocescope::plan {

using topology::Fabric;
using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;
using topology::TapDirection;

namespace {

template <typename Wanted>
std::vector<PortIndex> PortsWhere(const Fabric& fabric, NodeIndex node, Wanted wanted) {
  std::vector<PortIndex> found;
  const topology::Node& owner = fabric.node(node);
  for (PortIndex port = owner.first_port; port < owner.first_port + owner.port_count; ++port) {
    const NodeIndex peer = fabric.PeerNode(port);
    if (peer != kNone && wanted(fabric.node(peer))) found.push_back(port);
  }
  return found;
}

}  // namespace

std::vector<PortIndex> NicPortsOf(const Fabric& fabric, NodeIndex node) {
  return PortsWhere(fabric, node, [](const topology::Node& peer) { return !peer.IsSwitch(); });
}

std::vector<PortIndex> UplinksOf(const Fabric& fabric, NodeIndex node) {
  const topology::Tier tier = fabric.node(node).tier;
  return PortsWhere(fabric, node, [tier](const topology::Node& peer) { return peer.tier > tier; });
}

std::vector<NodeIndex> LeavesOf(const Fabric& fabric) {
  std::vector<NodeIndex> leaves;
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (fabric.node(node).IsSwitch() && !NicPortsOf(fabric, node).empty()) leaves.push_back(node);
  }
  return leaves;
}

std::vector<MirroredSwitch> MirroredPorts(const Fabric& fabric, const PlanOptions& options,
                                          MirrorChoice choice, Part part) {
  std::vector<MirroredSwitch> mirrored;
  size_t number = 0;
  for (const NodeIndex leaf : LeavesOf(fabric)) {
    const size_t at = number++;
    if (choice == MirrorChoice::kSecondLeaves && at % 2 == 1) continue;
    if (choice == MirrorChoice::kSomeNics && at >= part.leaves) break;
    MirroredSwitch each = {.node = leaf};
    if (choice == MirrorChoice::kUplinks) {
      const bool has_collector = std::ranges::any_of(
          options.collectors,
          [&](const Collector& collector) { return collector.node == fabric.node(leaf).name; });
      if (!has_collector) each.ports = UplinksOf(fabric, leaf);
    } else {
      each.ports = NicPortsOf(fabric, leaf);
      if (choice == MirrorChoice::kSomeNics && each.ports.size() > part.ports) {
        each.ports.resize(part.ports);
      }
      if (choice == MirrorChoice::kNicsBoth) each.direction = TapDirection::kBoth;
    }
    if (!each.ports.empty()) mirrored.push_back(std::move(each));
  }
  return mirrored;
}

}  // namespace rocescope::plan
