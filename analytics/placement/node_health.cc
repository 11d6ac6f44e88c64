// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/placement/node_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "analytics/placement/fault_cost.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;
using topology::Tier;

double LeftOf(std::span<const PlacementReason> reasons) {
  double left = 1;
  for (const PlacementReason& reason : reasons) left *= 1 - std::min(1.0, reason.cost);
  return left;
}

// Load is left out before faults.
void KeepWorst(std::vector<PlacementReason>& reasons) {
  std::ranges::stable_sort(reasons, std::ranges::greater(), &PlacementReason::cost);
  for (size_t i = reasons.size(); i-- > 0 && reasons.size() > kMaxReasons;) {
    const PlacementReasonKind kind = reasons[i].kind;
    if (kind != PlacementReasonKind::kBusy && kind != PlacementReasonKind::kBusyAbove) continue;
    reasons.erase(reasons.begin() + static_cast<ptrdiff_t>(i));
  }
  if (reasons.size() > kMaxReasons) reasons.resize(kMaxReasons);
}

}  // namespace

NodeHealth::NodeHealth(const topology::Fabric& fabric, const topology::LeafGroups& groups,
                       const Findings& findings, const LinkLoads& loads)
    : fabric_(fabric),
      groups_(groups),
      loads_(loads),
      load_of_(fabric.ports().size()),
      at_(fabric.nodes().size()),
      above_(fabric.nodes().size()) {
  for (const LinkLoad& load : loads.loads) load_of_[load.port] = &load;
  for (const topology::Nic& nic : fabric.nics()) {
    if (fabric.Peer(nic.port) == kNone) continue;
    if (rail_exists_.size() <= nic.rail) rail_exists_.resize(nic.rail + 1);
    rail_exists_[nic.rail] = true;
  }
  constexpr int64_t kRemembered = 256;  // windows in which a resolved fault still counts
  for (const Finding& finding : findings) {
    if (finding.until && loads.from && *finding.until + kRemembered * loads.window < *loads.from) {
      continue;
    }
    if (!finding.until) SpreadCulprits(finding);
    const double weight = finding.until ? kOverCounts : 1;
    Spread({.finding = &finding,
            .suspect = {finding.kind, finding.place, finding.confidence},
            .cost = weight * finding.confidence * InfoOf(finding.kind).placement_cost});
    for (const Suspect& rival : finding.alternatives) {
      Spread({.finding = &finding,
              .suspect = rival,
              .cost = weight * rival.probability * InfoOf(rival.kind).placement_cost});
    }
  }
  LookAbove();
}

void NodeHealth::Spread(const Problem& trouble) {
  const Place& place = trouble.suspect.place;
  switch (place.kind) {
    case PlaceKind::kLink:
      return SpreadLink(place.index, trouble);
    case PlaceKind::kSwitch:
      return SpreadSwitch(place.index, trouble);
    case PlaceKind::kNic:
      at_[fabric_.nic(place.index).host].push_back(trouble);
      return;
    case PlaceKind::kGpu:
      at_[fabric_.gpu(place.index).host].push_back(trouble);
      return;
  }
}

// The hosts that send the flows that cause an active fault. They can look idle, because such flows
// often belong to no known job.
void NodeHealth::SpreadCulprits(const Finding& finding) {
  std::set<NodeIndex> hosts;
  for (const FlowKey& flow : finding.culprits) {
    const topology::NicIndex nic =
        fabric_.FindNic({.segment = flow.segment, .address = flow.source});
    if (nic != kNone) hosts.insert(fabric_.nic(nic).host);
  }
  for (const NodeIndex host : hosts) {
    at_[host].push_back({.finding = &finding,
                         .suspect = {finding.kind, finding.place, finding.confidence},
                         .cost = finding.confidence,
                         .is_culprit = true});
  }
}

void NodeHealth::SpreadLink(topology::LinkIndex link, const Problem& trouble) {
  NodeIndex low = fabric_.port(fabric_.link(link).ends[0]).node;
  NodeIndex high = fabric_.port(fabric_.link(link).ends[1]).node;
  if (fabric_.node(low).tier > fabric_.node(high).tier) std::swap(low, high);
  if (fabric_.node(low).IsSwitch()) return AddAbove(low, trouble);
  at_[low].push_back(trouble);
  if (!fabric_.node(high).IsSwitch()) at_[high].push_back(trouble);
}

// A fault of a host's own switch affects the host; a fault above a leaf affects everything below
// it.
void NodeHealth::SpreadSwitch(NodeIndex node, const Problem& trouble) {
  std::set<NodeIndex> below;
  const topology::Node& at = fabric_.node(node);
  for (uint32_t i = 0; i < at.port_count; ++i) {
    const NodeIndex peer = fabric_.PeerNode(at.first_port + i);
    if (peer != kNone && fabric_.node(peer).tier < at.tier) below.insert(peer);
  }
  for (const NodeIndex peer : below) {
    if (fabric_.node(peer).IsSwitch()) {
      AddAbove(peer, trouble);
    } else {
      at_[peer].push_back(trouble);
    }
  }
}

uint32_t NodeHealth::UplinksOf(NodeIndex node) const {
  uint32_t count = 0;
  const topology::Node& at = fabric_.node(node);
  for (uint32_t i = 0; i < at.port_count; ++i) {
    const NodeIndex peer = fabric_.PeerNode(at.first_port + i);
    if (peer != kNone && fabric_.node(peer).tier > at.tier) ++count;
  }
  return count;
}

void NodeHealth::AddAbove(NodeIndex below, const Problem& trouble) {
  Problem here = trouble;
  here.cost *= InfoOf(trouble.suspect.kind).is_routed_around ? 1.0 / std::max(1u, UplinksOf(below))
                                                             : kAboveCounts;
  above_[below].push_back(here);
}

void NodeHealth::LookAbove() {
  std::vector<std::set<NodeIndex>> spines(groups_.part_of_pod.size());
  for (const topology::LeafGroup& group : groups_.groups) {
    above_group_.push_back(LookAbove(group.leaves));
    for (const NodeIndex leaf : group.leaves) {
      const topology::Node& at = fabric_.node(leaf);
      for (uint32_t i = 0; i < at.port_count; ++i) {
        const NodeIndex peer = fabric_.PeerNode(at.first_port + i);
        if (peer != kNone && fabric_.node(peer).tier == Tier::kSpine)
          spines[group.pod].insert(peer);
      }
    }
  }
  for (const std::set<NodeIndex>& pod : spines) {
    above_pod_.push_back(LookAbove(std::vector<NodeIndex>(pod.begin(), pod.end())));
  }
}

// Each fault counts once, however many links lead to it; for loads, only the worst counts.
NodeHealth::Above NodeHealth::LookAbove(std::span<const NodeIndex> below) const {
  Above above;
  std::set<std::pair<const Finding*, Place>> seen;
  std::optional<PortIndex> busiest;
  const auto look_at = [&](PortIndex port) {
    if (!busiest || Taken(port) > Taken(*busiest)) busiest = port;
  };
  for (const NodeIndex node : below) {
    for (const Problem& trouble : above_[node]) {
      if (!seen.emplace(trouble.finding, trouble.suspect.place).second) continue;
      above.reasons.push_back(ReasonOf(trouble, true, trouble.cost));
    }
    const topology::Node& at = fabric_.node(node);
    for (uint32_t i = 0; i < at.port_count; ++i) {
      const PortIndex port = at.first_port + i;
      const NodeIndex peer = fabric_.PeerNode(port);
      if (peer == kNone || fabric_.node(peer).tier <= at.tier) continue;
      look_at(port);
      look_at(fabric_.Peer(port));
    }
  }
  if (busiest) AddLoad(*busiest, true, above.reasons);
  above.left = LeftOf(above.reasons);
  KeepWorst(above.reasons);
  return above;
}

PlacementReason NodeHealth::ReasonOf(const Problem& trouble, bool above, double cost) const {
  const Suspect& suspect = trouble.suspect;
  const std::string place = NameOf(fabric_, suspect.place);
  return {
      .kind = above ? PlacementReasonKind::kFaultAbove : PlacementReasonKind::kFault,
      .cost = cost,
      .place = place,
      .finding = suspect.kind,
      .value = suspect.probability,
      .sentence = fmt::format("{}{}: {}{}; confidence {:.2f}",
                              trouble.is_culprit ? "traffic of this node causes a fault: " : "",
                              place, InfoOf(suspect.kind).sentence,
                              trouble.finding->until ? " (resolved, or no longer observed)" : "",
                              std::floor(suspect.probability * 100) / 100)};
}

NodeHealth::Share NodeHealth::ShareOf(PortIndex port) const {
  const LinkLoad* const load = load_of_[port];
  const double window = static_cast<double>(loads_.window.count());
  if (load == nullptr || fabric_.SpeedOf(port) == 0 || window == 0) return {};
  return {.used = UtilizationOf(fabric_, *load, loads_.window).value_or(0),
          .paused = std::min(1.0, static_cast<double>(load->paused.count()) / window)};
}

double NodeHealth::Taken(PortIndex port) const {
  const Share share = ShareOf(port);
  return std::min(1.0, share.used + share.paused);
}

void NodeHealth::AddLoad(PortIndex port, bool above, std::vector<PlacementReason>& out) const {
  const auto [used, paused] = ShareOf(port);
  const double taken = Taken(port);
  if (taken <= kBusyFrom) return;
  const bool is_paused = paused > used;
  PlacementReason reason = {.kind = above       ? PlacementReasonKind::kBusyAbove
                                    : is_paused ? PlacementReasonKind::kPaused
                                                : PlacementReasonKind::kBusy,
                            .cost = taken - kBusyFrom,
                            .place = fabric_.NameOf(port),
                            .value = is_paused ? paused : used};
  reason.sentence =
      is_paused
          ? fmt::format("{} is paused by PFC {:.0f} % of the time", reason.place, paused * 100)
          : fmt::format("the link at {} is {:.0f} % utilised", reason.place, reason.value * 100);
  out.push_back(std::move(reason));
}

void NodeHealth::AddLightLoad(NodeIndex host, std::vector<PlacementReason>& out) const {
  std::optional<PortIndex> busiest;
  for (const topology::NicIndex nic : fabric_.NicsOf(host)) {
    for (const PortIndex port : {fabric_.nic(nic).port, fabric_.Peer(fabric_.nic(nic).port)}) {
      if (port != kNone && (!busiest || Taken(port) > Taken(*busiest))) busiest = port;
    }
  }
  if (!busiest || Taken(*busiest) < kIdleBelow || Taken(*busiest) > kBusyFrom) return;
  const std::string place = fabric_.NameOf(*busiest);
  const double taken = Taken(*busiest);
  out.push_back(
      {.kind = PlacementReasonKind::kBusy,
       .cost = kLightLoadCost * taken,
       .place = place,
       .value = taken,
       .sentence = fmt::format("the link at {} is {:.0f} % utilised", place, taken * 100)});
}

void NodeHealth::AddRail(const topology::Nic& nic, NodeRank& rank) const {
  const PortIndex peer = fabric_.Peer(nic.port);
  if (peer == kNone) {
    if (nic.rail >= rail_exists_.size() || !rail_exists_[nic.rail]) return;
    rank.reasons.push_back({.kind = PlacementReasonKind::kNoLink,
                            .cost = 1,
                            .place = fabric_.NameOf(nic.port),
                            .sentence = fmt::format("{} has no link: rail {} is missing",
                                                    fabric_.NameOf(nic.port), nic.rail)});
    return;
  }
  ++rank.rails;
  AddLoad(nic.port, false, rank.reasons);
  AddLoad(peer, false, rank.reasons);
  if (load_of_[nic.port] != nullptr || load_of_[peer] != nullptr) ++rank.monitored_rails;
  const auto index = fabric_.NicOf(nic.port);
  const bool is_ill = std::ranges::any_of(at_[nic.host], [&](const Problem& trouble) {
    if (trouble.cost < kUnsuitable || trouble.is_culprit) return false;
    const Place& place = trouble.suspect.place;
    switch (place.kind) {
      case PlaceKind::kLink:
        return place.index == fabric_.port(nic.port).link;
      case PlaceKind::kSwitch:
        return place.index == fabric_.port(peer).node;
      case PlaceKind::kNic:
        return place.index == index;
      case PlaceKind::kGpu:
        return false;
    }
    return false;
  });
  if (!is_ill) ++rank.healthy_rails;
}

void NodeHealth::Fill(NodeRank& rank) const {
  const auto nics = fabric_.NicsOf(rank.node);
  for (const Problem& trouble : at_[rank.node]) {
    rank.reasons.push_back(ReasonOf(trouble, false, trouble.cost));
  }
  for (const topology::NicIndex nic : nics) AddRail(fabric_.nic(nic), rank);
  AddLightLoad(rank.node, rank.reasons);
  const uint32_t group = groups_.group_of[rank.node];
  if (group == kNone) {
    rank.reasons.push_back({.kind = PlacementReasonKind::kNoLink,
                            .cost = 1,
                            .sentence = "no NIC of this node is connected to a switch"});
  }
  if (rank.monitored_rails < rank.rails) {
    rank.reasons.push_back(
        {.kind = PlacementReasonKind::kUnmonitored,
         .cost = kUnmonitoredCost,
         .sentence = fmt::format("no telemetry about the load of {} of its {} links",
                                 rank.rails - rank.monitored_rails, rank.rails)});
  }
  rank.score = LeftOf(rank.reasons);
  rank.suits = std::ranges::all_of(
      rank.reasons, [](const PlacementReason& reason) { return reason.cost < kUnsuitable; });
  rank.beyond_leaf = rank.beyond_pod = rank.score;
  if (group != kNone) {
    const Above& above = above_group_[group];
    const Above& beyond = above_pod_[groups_.groups[group].pod];
    rank.beyond_leaf *= above.left;
    rank.beyond_pod = rank.beyond_leaf * beyond.left;
    rank.reasons.insert(rank.reasons.end(), above.reasons.begin(), above.reasons.end());
    rank.reasons.insert(rank.reasons.end(), beyond.reasons.begin(), beyond.reasons.end());
  }
  KeepWorst(rank.reasons);
}

}  // namespace rocescope
