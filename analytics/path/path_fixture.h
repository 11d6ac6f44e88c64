// SPDX-License-Identifier: BSD-3-Clause
// For tests of this folder: a small fabric and helpers to name its ports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analytics/path/path_tracker.h"
#include "topology/generate.h"

namespace rocescope {

// k = 4: 16 hosts; leaf0, leaf1, spine0 and spine1 are in pod 0; spine0 of each pod is linked to
// core0 and core1, spine1 to core2 and core3. host0 and host1 are at leaf0, host2 at leaf1, host4
// at leaf2 in pod 1.
inline topology::Fabric SmallFatTree() {
  return topology::Generate({.shape = topology::Shape::kFatTree, .k = 4}).value();
}

// Returns the port of `from` that is linked to `to`.
inline topology::PortIndex PortBetween(const topology::Fabric& fabric, std::string_view from,
                                       std::string_view to) {
  const topology::NodeIndex node = fabric.FindNode(from);
  for (const topology::Port& port : fabric.PortsOf(node)) {
    const auto index = static_cast<topology::PortIndex>(&port - fabric.ports().data());
    if (fabric.PeerNode(index) == fabric.FindNode(to)) return index;
  }
  return topology::kNone;
}

inline topology::NicIndex NicOfHost(const topology::Fabric& fabric, std::string_view host) {
  return fabric.NicsOf(fabric.FindNode(host)).front();
}

// Returns the names of the nodes: "host0 leaf0 spine0 host1".
inline std::string NodesOf(const topology::Fabric& fabric, const topology::Path& path) {
  std::string text;
  for (const topology::PortIndex port : path.hops()) {
    text += fabric.node(fabric.port(port).node).name + " ";
  }
  return text + fabric.node(fabric.PeerNode(path.ports[path.length - 1])).name;
}

}  // namespace rocescope
