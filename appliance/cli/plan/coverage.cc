// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <vector>

#include "appliance/cli/plan/mirror_plan.h"

namespace rocescope::plan {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;
using topology::TapDirection;

double Share(size_t part, size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// For each port: whether ingress or egress is mirrored.
struct Watched {
  std::vector<bool> entering;
  std::vector<bool> leaving;
};

Watched WatchedPorts(const Fabric& fabric, const MirrorPlan& plan) {
  Watched watched = {std::vector<bool>(fabric.ports().size()),
                     std::vector<bool>(fabric.ports().size())};
  for (const MirrorSession& session : plan.sessions) {
    for (const PortIndex port : session.tap.ports) {
      if (session.tap.direction != TapDirection::kEgress) watched.entering[port] = true;
      if (session.tap.direction != TapDirection::kIngress) watched.leaving[port] = true;
    }
  }
  return watched;
}

// Returns whether all traffic to a leaf is mirrored at the ingress of its uplinks.
std::vector<bool> WatchedFromAbove(const Fabric& fabric, const Watched& watched) {
  std::vector<bool> all(fabric.nodes().size());
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    const topology::Node& leaf = fabric.node(node);
    size_t up = 0;
    size_t seen = 0;
    for (PortIndex port = leaf.first_port; port < leaf.first_port + leaf.port_count; ++port) {
      const NodeIndex peer = fabric.PeerNode(port);
      if (peer == kNone || fabric.node(peer).tier <= leaf.tier) continue;
      ++up;
      if (watched.entering[port]) ++seen;
    }
    all[node] = up > 0 && seen == up;
  }
  return all;
}

}  // namespace

Coverage CoverageOf(const Fabric& fabric, const MirrorPlan& plan) {
  const Watched watched = WatchedPorts(fabric, plan);
  const std::vector<bool> from_above = WatchedFromAbove(fabric, watched);

  // A pair is not observed if neither its sender's nor its receiver's port is mirrored, nor the
  // downlinks between them, which are not used within a leaf.
  struct OfLeaf {
    size_t senders = 0;
    size_t receivers = 0;
  };
  std::map<NodeIndex, OfLeaf> unseen_of_leaf;  // receivers behind mirrored downlinks only
  size_t nics = 0;
  size_t sending = 0;
  size_t receiving = 0;
  size_t unseen_receivers = 0;  // leaves without mirrored downlinks
  size_t selves = 0;            // NICs that would form a pair with themselves
  for (const topology::Nic& nic : fabric.nics()) {
    const PortIndex port = fabric.Peer(nic.port);
    if (port == kNone) continue;
    const NodeIndex leaf = fabric.port(port).node;
    ++nics;
    if (watched.entering[port]) ++sending;
    if (watched.leaving[port]) ++receiving;
    if (!watched.entering[port]) ++unseen_of_leaf[leaf].senders;
    if (!watched.leaving[port])
      ++(from_above[leaf] ? unseen_of_leaf[leaf].receivers : unseen_receivers);
    if (!watched.entering[port] && !watched.leaving[port]) ++selves;
  }
  const size_t unseen_senders = nics - sending;
  size_t missing = unseen_senders * unseen_receivers - selves;
  for (const auto& [leaf, of] : unseen_of_leaf) missing += of.senders * of.receivers;

  size_t directions = 0;
  size_t watched_directions = 0;
  for (const topology::Link& link : fabric.links()) {
    const auto [a, b] = link.ends;
    if (!fabric.node(fabric.port(a).node).IsSwitch() ||
        !fabric.node(fabric.port(b).node).IsSwitch()) {
      continue;
    }
    directions += 2;
    if (watched.leaving[a] || watched.entering[b]) ++watched_directions;
    if (watched.leaving[b] || watched.entering[a]) ++watched_directions;
  }
  const size_t pairs = nics * (nics - (nics > 0 ? 1 : 0));
  return {.nics_sending = Share(sending, nics),
          .nics_receiving = Share(receiving, nics),
          .pairs = Share(pairs - missing, pairs),
          .fabric_links = Share(watched_directions, directions)};
}

}  // namespace rocescope::plan
