// SPDX-License-Identifier: BSD-3-Clause
#include "topology/route.h"

#include <algorithm>
#include <utility>

namespace rocescope::topology {

Routes::Routes(const Fabric& fabric)
    : fabric_(fabric),
      edge_of_(fabric.nics().size(), kNone),
      last_hop_(fabric.nics().size(), kNone),
      tables_(fabric.nodes().size()) {
  for (NicIndex i = 0; i < fabric.nics().size(); ++i) {
    const PortIndex peer = fabric.Peer(fabric.nic(i).port);
    if (peer == kNone || !fabric.node(fabric.port(peer).node).IsSwitch()) continue;
    edge_of_[i] = fabric.port(peer).node;
    last_hop_[i] = peer;
  }
  const auto node_count = static_cast<NodeIndex>(fabric.nodes().size());
  std::vector<PortIndex> ports;
  for (NodeIndex i = 0; i < node_count; ++i) {
    const Node& node = fabric.node(i);
    ports.clear();
    for (PortIndex p = node.first_port; p < node.first_port + node.port_count; ++p) {
      const NodeIndex peer = fabric.PeerNode(p);
      if (peer != kNone && node.IsSwitch() && fabric.node(peer).IsSwitch()) ports.push_back(p);
    }
    std::sort(ports.begin(), ports.end(), [&](PortIndex a, PortIndex b) {
      return fabric.port(a).number < fabric.port(b).number;
    });
    const auto add = [&](bool up) {
      for (const PortIndex p : ports) {
        const NodeIndex peer = fabric.PeerNode(p);
        const Tier tier = fabric.node(peer).tier;
        if (up ? tier > node.tier : tier < node.tier) {
          neighbours_.push_back({.port = p, .node = peer, .link = fabric.port(p).link});
        }
      }
    };
    first_up_.push_back(static_cast<uint32_t>(neighbours_.size()));
    add(true);
    first_down_.push_back(static_cast<uint32_t>(neighbours_.size()));
    add(false);
    if (node.IsSwitch()) upwards_.push_back(i);
  }
  first_up_.push_back(static_cast<uint32_t>(neighbours_.size()));
  std::sort(upwards_.begin(), upwards_.end(), [&](NodeIndex a, NodeIndex b) {
    return std::pair(fabric.node(a).tier, a) < std::pair(fabric.node(b).tier, b);
  });
}

std::span<const Routes::Neighbour> Routes::UpFrom(NodeIndex node) const {
  return std::span(neighbours_).subspan(first_up_[node], first_down_[node] - first_up_[node]);
}

std::span<const Routes::Neighbour> Routes::DownFrom(NodeIndex node) const {
  return std::span(neighbours_).subspan(first_down_[node], first_up_[node + 1] - first_down_[node]);
}

void Routes::SetFailed(std::vector<bool> failed_links) {
  failed_ = std::move(failed_links);
  for (auto& table : tables_) table.reset();
}

uint32_t Routes::Nearest(std::span<const Neighbour> ways,
                         const std::vector<uint32_t>& distance) const {
  uint32_t nearest = kNone;
  for (const Neighbour& way : ways) {
    if (!Failed(way.link)) nearest = std::min(nearest, distance[way.node]);
  }
  return nearest;
}

Routes::Table Routes::Compute(NodeIndex edge) const {
  // Distances going down only, computed from the edge upwards: a lower tier is complete before the
  // next one uses it.
  std::vector<uint32_t> down(fabric_.nodes().size(), kNone);
  for (const NodeIndex node : upwards_) {
    const uint32_t nearest = node == edge ? kNone : Nearest(DownFrom(node), down);
    if (nearest != kNone) down[node] = nearest + 1;
    if (node == edge) down[node] = 0;
  }
  Table table;
  table.distance = down;
  for (auto at = upwards_.rbegin(); at != upwards_.rend(); ++at) {
    if (table.distance[*at] != kNone) continue;
    const uint32_t nearest = Nearest(UpFrom(*at), table.distance);
    if (nearest != kNone) table.distance[*at] = nearest + 1;
  }
  const auto node_count = static_cast<NodeIndex>(fabric_.nodes().size());
  table.first.reserve(node_count + size_t{1});
  for (NodeIndex node = 0; node < node_count; ++node) {
    table.first.push_back(static_cast<uint32_t>(table.ports.size()));
    const uint32_t distance = table.distance[node];
    if (distance == kNone || distance == 0) continue;
    const bool goes_down = down[node] != kNone;
    for (const Neighbour& way : goes_down ? DownFrom(node) : UpFrom(node)) {
      const uint32_t theirs = goes_down ? down[way.node] : table.distance[way.node];
      if (!Failed(way.link) && theirs == distance - 1) table.ports.push_back(way.port);
    }
  }
  table.first.push_back(static_cast<uint32_t>(table.ports.size()));
  return table;
}

const Routes::Table& Routes::TableTo(NodeIndex edge) {
  if (!tables_[edge]) tables_[edge] = std::make_unique<Table>(Compute(edge));
  return *tables_[edge];
}

std::span<const PortIndex> Routes::NextHops(NodeIndex at, NicIndex destination) {
  const NodeIndex edge = edge_of_[destination];
  if (edge == kNone) return {};
  if (at == edge) {
    const PortIndex& last = last_hop_[destination];
    if (Failed(fabric_.port(last).link)) return {};
    return {&last, 1};
  }
  const Table& table = TableTo(edge);
  return std::span(table.ports).subspan(table.first[at], table.first[at + 1] - table.first[at]);
}

uint32_t Routes::Distance(NodeIndex at, NicIndex destination) {
  const NodeIndex edge = edge_of_[destination];
  return edge == kNone ? kNone : TableTo(edge).distance[at];
}

}  // namespace rocescope::topology
