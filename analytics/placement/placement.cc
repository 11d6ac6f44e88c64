// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/placement/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "analytics/placement/choose_nodes.h"
#include "analytics/placement/node_health.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::NodeIndex;

constexpr std::array<std::string_view, 9> kReasonNames = {
    "in_use", "too_few_gpus", "no_link",     "fault",     "busy",
    "paused", "unmonitored",  "fault_above", "busy_above"};
constexpr std::array<std::string_view, 5> kDistanceNames = {"", "node", "leaf", "pod", "fabric"};

// Everything that jobs occupy on a node.
struct Held {
  bool whole = false;
  bool any = false;
  std::set<uint32_t> gpus;
  std::set<uint64_t> jobs;
};

std::vector<Held> HeldBy(const topology::Fabric& fabric, std::span<const NodeUsage> uses) {
  std::vector<Held> held(fabric.nodes().size());
  for (const NodeUsage& use : uses) {
    Held& node = held[use.node];
    node.any = true;
    node.whole = node.whole || use.gpus.empty();
    node.gpus.insert(use.gpus.begin(), use.gpus.end());
    if (use.job) node.jobs.insert(*use.job);
  }
  return held;
}

std::string InUse(const Held& held) {
  if (held.jobs.empty()) return "an unregistered job runs on this node";
  const bool is_one = held.jobs.size() == 1;
  return fmt::format("{} {} {} on this node", is_one ? "job" : "jobs", fmt::join(held.jobs, ", "),
                     is_one ? "runs" : "run");
}

class Placer {
 public:
  Placer(const topology::Fabric& fabric, const topology::LeafGroups& groups,
         const PlacementRequest& request)
      : fabric_(fabric), groups_(groups), request_(request) {}

  Placement Run(const NodeHealth& health, const std::vector<Held>& held) {
    Placement placement;
    for (const NodeIndex node : request_.candidates) {
      NodeRank& rank = placement.nodes.emplace_back();
      rank.node = node;
      AddUse(held[node], rank);
      health.Fill(rank);
    }
    std::vector<Offer> offers;
    for (const NodeRank& rank : placement.nodes) {
      if (!rank.suits) continue;
      offers.push_back({.rank = &rank, .amount = request_.gpus == 0 ? 1 : Wanted(rank)});
      placement.offered += offers.back().amount;
    }
    NodeChoice choice = ChooseNodes(groups_, offers, Need());
    placement.chosen = std::move(choice.nodes);
    placement.distance = choice.distance;
    placement.score = choice.score;
    for (NodeRank& rank : placement.nodes) {
      rank.chosen = std::ranges::binary_search(placement.chosen, rank.node);
      if (rank.chosen) placement.groups.push_back(groups_.group_of[rank.node]);
    }
    std::ranges::sort(placement.groups);
    const auto same = std::ranges::unique(placement.groups);
    placement.groups.erase(same.begin(), same.end());
    placement.sentence = Sentence(placement);
    std::ranges::stable_sort(placement.nodes, {}, [](const NodeRank& rank) {
      return std::tuple(!rank.chosen, !rank.suits, -rank.score, -rank.beyond_leaf, rank.node);
    });
    return placement;
  }

 private:
  uint32_t Need() const { return request_.gpus == 0 ? request_.nodes : request_.gpus; }
  // Returns the number of GPUs that the job would use on a node.
  uint32_t Wanted(const NodeRank& rank) const {
    if (request_.gpus_per_node > 0) return std::min(request_.gpus_per_node, request_.gpus);
    return std::min(rank.gpus, request_.gpus);
  }

  void AddUse(const Held& held, NodeRank& rank) const {
    const auto gpus = fabric_.GpusOf(rank.node);
    rank.gpus = static_cast<uint32_t>(gpus.size());
    rank.free_gpus =
        held.whole ? 0 : static_cast<uint32_t>(std::ranges::count_if(gpus, [&](auto gpu) {
          return !held.gpus.contains(fabric_.gpu(gpu).number);
        }));
    const uint32_t wanted = Wanted(rank);
    const bool is_short = request_.gpus > 0 && (rank.gpus < wanted || wanted == 0);
    if (is_short) {
      rank.reasons.push_back(
          {.kind = PlacementReasonKind::kTooFewGpus,
           .cost = 1,
           .sentence = fmt::format("the node has {}, but {} per node are requested",
                                   Counted(rank.gpus, "GPU"), std::max(1u, wanted))});
    }
    if (!held.any) return;
    const bool is_taken =
        request_.gpus == 0 || held.whole || (!is_short && rank.free_gpus < wanted);
    std::string sentence = InUse(held);
    if (!held.whole) {
      sentence += fmt::format("; {} of {} are free", rank.free_gpus, Counted(rank.gpus, "GPU"));
    }
    rank.reasons.push_back({.kind = PlacementReasonKind::kInUse,
                            .cost = is_taken ? 1.0 : 0.0,
                            .jobs = {held.jobs.begin(), held.jobs.end()},
                            .sentence = std::move(sentence)});
  }

  std::string Sentence(const Placement& placement) const {
    const std::string_view noun = request_.gpus == 0 ? "node" : "GPU";
    if (placement.chosen.empty()) {
      if (placement.offered >= Need()) {
        return fmt::format(
            "{} are requested and {} are suitable, but no connected part of the fabric has enough "
            "of them",
            Counted(Need(), noun), placement.offered);
      }
      return fmt::format(
          "{} requested; suitable: {} of {} (excluded: {})",
          Need() == 1 ? fmt::format("1 {} is", noun) : fmt::format("{} are", Counted(Need(), noun)),
          Counted(placement.offered, noun), Counted(placement.nodes.size(), "candidate"),
          WhyNot(placement));
    }
    std::string where;
    const topology::LeafGroup& first = groups_.groups[placement.groups.front()];
    switch (placement.distance) {
      case PlacementDistance::kNode:
        return fmt::format("node {} has enough free GPUs: {}",
                           fabric_.node(placement.chosen[0]).name, ProblemsOf(placement));
      case PlacementDistance::kLeaf:
        where = fmt::format("below {}", NameOf(fabric_, first));
        break;
      case PlacementDistance::kPod:
        where = fmt::format(
            "below {} of one pod, because no group of leaves has enough equally suitable "
            "nodes",
            Counted(placement.groups.size(), "group") + " of leaves");
        break;
      default:
        where = fmt::format(
            "below {} of several pods, because no pod has enough equally suitable nodes",
            Counted(placement.groups.size(), "group") + " of leaves");
    }
    return fmt::format("{} {}: {}", Counted(placement.chosen.size(), "node"), where,
                       ProblemsOf(placement));
  }

  // Describes the problems of the chosen nodes.
  static std::string ProblemsOf(const Placement& placement) {
    std::vector<const PlacementReason*> against;
    for (const NodeRank& rank : placement.nodes) {
      if (!rank.chosen) continue;
      for (const PlacementReason& reason : rank.reasons) {
        const bool above = reason.kind == PlacementReasonKind::kFaultAbove ||
                           reason.kind == PlacementReasonKind::kBusyAbove;
        if (above && placement.distance <= PlacementDistance::kLeaf) continue;
        if (reason.cost > 0) against.push_back(&reason);
      }
    }
    if (against.empty()) return "no known problems";
    const auto worst = std::ranges::max_element(
        against, {}, [](const PlacementReason* reason) { return reason->cost; });
    return "worst known problem: " + (*worst)->sentence;
  }

  // Counts the unsuitable candidates by their worst reason.
  static std::string WhyNot(const Placement& placement) {
    std::map<PlacementReasonKind, size_t> counts;
    for (const NodeRank& rank : placement.nodes) {
      if (rank.suits) continue;
      const auto worst = std::ranges::max_element(rank.reasons, {}, &PlacementReason::cost);
      if (worst != rank.reasons.end()) ++counts[worst->kind];
    }
    std::string text;
    for (const auto& [kind, count] : counts) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count,
                          kind == PlacementReasonKind::kInUse        ? "in use"
                          : kind == PlacementReasonKind::kTooFewGpus ? "with too few GPUs"
                          : kind == PlacementReasonKind::kNoLink     ? "without a link"
                          : kind == PlacementReasonKind::kFault      ? "with faults"
                                                                     : "on busy or paused links");
    }
    return text.empty() ? "none" : text;
  }

  const topology::Fabric& fabric_;
  const topology::LeafGroups& groups_;
  const PlacementRequest& request_;
};

}  // namespace

std::string_view NameOf(PlacementReasonKind kind) {
  return kReasonNames[static_cast<size_t>(kind)];
}

std::string_view NameOf(PlacementDistance distance) {
  return kDistanceNames[static_cast<size_t>(distance)];
}

Placement PlaceJob(const topology::Fabric& fabric, const topology::LeafGroups& groups,
                   const Findings& findings, const LinkLoads& loads,
                   std::span<const NodeUsage> uses, const PlacementRequest& request) {
  const NodeHealth health(fabric, groups, findings, loads);
  return Placer(fabric, groups, request).Run(health, HeldBy(fabric, uses));
}

}  // namespace rocescope
