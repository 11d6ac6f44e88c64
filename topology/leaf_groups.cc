// SPDX-License-Identifier: BSD-3-Clause
#include "topology/leaf_groups.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text/name_range.h"

namespace rocescope::topology {
namespace {

// Disjoint sets of nodes (union-find with path halving).
class Sets {
 public:
  explicit Sets(size_t count) : above_(count) { std::iota(above_.begin(), above_.end(), 0u); }

  uint32_t Of(uint32_t node) {
    while (above_[node] != node) node = above_[node] = above_[above_[node]];
    return node;
  }
  // The lower index represents both, so that the result does not depend on the order.
  void Join(uint32_t a, uint32_t b) {
    a = Of(a);
    b = Of(b);
    above_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> above_;
};

std::vector<NodeIndex> LeavesOf(const Fabric& fabric, NodeIndex host) {
  std::vector<NodeIndex> leaves;
  for (const NicIndex nic : fabric.NicsOf(host)) {
    const NodeIndex peer = fabric.PeerNode(fabric.nic(nic).port);
    if (peer != kNone && fabric.node(peer).IsSwitch()) leaves.push_back(peer);
  }
  std::ranges::sort(leaves);
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return leaves;
}

// Joins switches that are linked, with or without the links to cores.
void JoinSwitches(const Fabric& fabric, bool with_cores, Sets& sets) {
  for (const Link& link : fabric.links()) {
    const NodeIndex a = fabric.port(link.ends[0]).node;
    const NodeIndex b = fabric.port(link.ends[1]).node;
    const Tier low = std::min(fabric.node(a).tier, fabric.node(b).tier);
    const Tier high = std::max(fabric.node(a).tier, fabric.node(b).tier);
    if (low == Tier::kHost || (high == Tier::kCore) != with_cores) continue;
    sets.Join(a, b);
  }
}

// Maps representatives of sets to 0, 1...
class GroupNumbers {
 public:
  uint32_t Of(uint32_t key) {
    return numbers_.emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t count() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::map<uint32_t, uint32_t> numbers_;
};

}  // namespace

LeafGroups LeafGroupsOf(const Fabric& fabric) {
  LeafGroups found;
  found.group_of.assign(fabric.nodes().size(), kNone);
  std::map<std::vector<NodeIndex>, uint32_t> by_leaves;
  for (NodeIndex host = 0; host < fabric.nodes().size(); ++host) {
    if (fabric.node(host).IsSwitch()) continue;
    std::vector<NodeIndex> leaves = LeavesOf(fabric, host);
    if (leaves.empty()) continue;
    const auto [at, is_new] = by_leaves.emplace(leaves, static_cast<uint32_t>(found.groups.size()));
    if (is_new) found.groups.emplace_back().leaves = std::move(leaves);
    found.groups[at->second].hosts.push_back(host);
    found.group_of[host] = at->second;
  }
  Sets sets(fabric.nodes().size());
  JoinSwitches(fabric, false, sets);
  // Rails may have separate spines: then the hosts connect them.
  for (const LeafGroup& group : found.groups) {
    for (const NodeIndex leaf : group.leaves) sets.Join(group.leaves.front(), leaf);
  }
  GroupNumbers pods;
  for (LeafGroup& group : found.groups) group.pod = pods.Of(sets.Of(group.leaves.front()));
  JoinSwitches(fabric, true, sets);
  found.part_of_pod.resize(pods.count());
  GroupNumbers parts;
  for (const LeafGroup& group : found.groups) {
    found.part_of_pod[group.pod] = parts.Of(sets.Of(group.leaves.front()));
  }
  found.parts = parts.count();
  return found;
}

std::string NameOf(const Fabric& fabric, const LeafGroup& group) {
  std::vector<std::string> names;
  names.reserve(group.leaves.size());
  for (const NodeIndex leaf : group.leaves) names.push_back(fabric.node(leaf).name);
  return CompressNames(names);
}

}  // namespace rocescope::topology
