// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/valley.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topology/route.h"

namespace rocescope::sim {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;

// The first port of `from` that leads to `to`; kNone if none does.
PortIndex PortTowards(const Fabric& fabric, NodeIndex from, NodeIndex to) {
  const topology::Node& node = fabric.node(from);
  for (PortIndex port = node.first_port; port < node.first_port + node.port_count; ++port) {
    if (fabric.PeerNode(port) == to) return port;
  }
  return kNone;
}

// Returns the switches of this tier next to `node`, except `but`, in the order of its ports.
std::vector<NodeIndex> Neighbours(const Fabric& fabric, NodeIndex node, topology::Tier tier,
                                  NodeIndex but) {
  std::vector<NodeIndex> found;
  const topology::Node& of = fabric.node(node);
  for (PortIndex port = of.first_port; port < of.first_port + of.port_count; ++port) {
    const NodeIndex peer = fabric.PeerNode(port);
    if (peer == kNone || peer == but || fabric.node(peer).tier != tier) continue;
    if (std::find(found.begin(), found.end(), peer) == found.end()) found.push_back(peer);
  }
  return found;
}

class Finder {
 public:
  explicit Finder(const Fabric& fabric) : fabric_(fabric), routes_(fabric) {}

  // Edge switches that both uppers reach by going down past both lowers.
  std::vector<NodeIndex> Beyond(const std::array<NodeIndex, 2>& lowers,
                                const std::array<NodeIndex, 2>& uppers) {
    std::vector<NodeIndex> edges;
    for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
      const NodeIndex edge = routes_.EdgeOf(nic);
      if (edge == kNone || std::find(edges.begin(), edges.end(), edge) != edges.end()) continue;
      if (edge == lowers[0] || edge == lowers[1]) continue;
      const bool reached = std::all_of(uppers.begin(), uppers.end(), [&](NodeIndex upper) {
        return edge != upper && GoesDown(upper, nic, lowers);
      });
      if (reached) edges.push_back(edge);
    }
    return edges;
  }

 private:
  bool GoesDown(NodeIndex upper, topology::NicIndex nic, const std::array<NodeIndex, 2>& lowers) {
    const auto ports = routes_.NextHops(upper, nic);
    return !ports.empty() && std::all_of(ports.begin(), ports.end(), [&](PortIndex port) {
      const NodeIndex next = fabric_.PeerNode(port);
      return next != lowers[0] && next != lowers[1] &&
             fabric_.node(next).tier < fabric_.node(upper).tier;
    });
  }

  const Fabric& fabric_;
  topology::Routes routes_;
};

}  // namespace

Result<ValleyLoop> FindValleyLoop(const Fabric& fabric, topology::LinkIndex link) {
  PortIndex up = fabric.link(link).ends[0];
  PortIndex down = fabric.link(link).ends[1];
  const auto tier = [&](PortIndex port) { return fabric.node(fabric.port(port).node).tier; };
  if (tier(up) > tier(down)) std::swap(up, down);
  const NodeIndex a = fabric.port(up).node;
  const NodeIndex s = fabric.port(down).node;
  const auto none = [&](std::string_view missing) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("no loop of pauses can close over {}: {}", fabric.NameOfLink(link), missing));
  };
  if (!fabric.node(a).IsSwitch() || tier(up) == tier(down)) {
    return none("its ends are not switches of two tiers");
  }
  Finder finder(fabric);
  for (const NodeIndex b : Neighbours(fabric, s, tier(up), a)) {
    for (const NodeIndex t : Neighbours(fabric, a, tier(down), s)) {
      const PortIndex from_b = PortTowards(fabric, b, t);
      if (from_b == kNone) continue;
      const std::vector<NodeIndex> edges = finder.Beyond({a, b}, {s, t});
      if (edges.size() < 2) continue;
      ValleyLoop loop = {
          .ports = {up, PortTowards(fabric, s, b), from_b, PortTowards(fabric, t, a)},
          .detours = {}};
      // Detours alternate: over S, B and T; over T, A and S.
      for (size_t i = 0; i < edges.size(); ++i) {
        const size_t bounces = i % 2 == 0 ? 1 : 3;
        for (const size_t at : {bounces, (bounces + 1) % 4}) {
          loop.detours.push_back(
              {.at = fabric.port(loop.ports[at]).node, .edge = edges[i], .out = loop.ports[at]});
        }
      }
      return loop;
    }
  }
  return none(
      "it takes another pair of switches cabled to both ends, and two edge switches beyond them");
}

}  // namespace rocescope::sim
