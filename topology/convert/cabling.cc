// SPDX-License-Identifier: BSD-3-Clause
#include "topology/convert/cabling.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text/name_range.h"
#include "topology/check.h"
#include "topology/convert/lower_case.h"

namespace rocescope::topology {
namespace {

constexpr size_t kMaxNamesInANote = 8;

// "leaf[1-4], exit1 and 3 more"
std::string ForNote(std::vector<std::string> names) {
  const size_t all = names.size();
  if (all > kMaxNamesInANote) names.resize(kMaxNamesInANote);
  std::string text = CompressNames(names);
  if (all > names.size()) text += fmt::format(" and {} more", all - names.size());
  return text;
}

}  // namespace

std::optional<Tier> TierByName(std::string_view name) {
  const std::string lower = LowerCase(name);
  const auto has = [&lower](std::string_view word) {
    return lower.find(word) != std::string::npos;
  };
  if (has("superspine") || has("super-spine") || has("core")) return Tier::kCore;
  if (has("spine") || has("agg")) return Tier::kSpine;
  if (has("leaf") || has("tor") || has("edge")) return Tier::kLeaf;
  return std::nullopt;
}

std::optional<Tier> TierByRole(std::string_view role) {
  const std::string lower = LowerCase(role);
  if (lower == "host" || lower == "server") return Tier::kHost;
  return TierByName(lower);
}

size_t Cabling::AddNode(std::string_view name, Place place) {
  const auto [at, is_new] = by_name_.try_emplace(std::string(name), nodes_.size());
  if (is_new) nodes_.push_back({.name = std::string(name), .place = place, .tier = {}});
  return at->second;
}

std::optional<size_t> Cabling::FindNode(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? std::nullopt : std::optional(at->second);
}

void Cabling::ApplyOptions(const ConvertOptions& options) {
  for (Node& node : nodes_) {
    for (size_t tier = 0; tier < kTierCount; ++tier) {
      for (const std::string& pattern : options.names_of_tier[tier]) {
        if (fnmatch(pattern.c_str(), node.name.c_str(), 0) == 0) {
          node.tier = static_cast<Tier>(tier);
        }
      }
    }
  }
}

// Uses the distance from hosts for nodes whose tier is otherwise unknown.
void Cabling::DecideTiers(YamlErrors& errors, std::vector<std::string>& notes) {
  std::vector<size_t> distance(nodes_.size(), kTierCount);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].tier == Tier::kHost) distance[i] = 0;
  }
  for (size_t round = 1; round < kTierCount; ++round) {
    for (const Cable& cable : cables_) {
      for (const auto& [from, to] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
        if (distance[from] == round - 1) distance[to] = std::min(distance[to], round);
      }
    }
  }
  std::array<std::vector<std::string>, kTierCount> decided;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.tier) continue;
    if (distance[i] == 0 || distance[i] >= kTierCount) {
      errors.Add(node.place, fmt::format("the tier of {} is unknown; set it with the option for "
                                         "hosts, leaves, spines or cores",
                                         node.name));
      continue;
    }
    node.tier = static_cast<Tier>(distance[i]);
    decided[distance[i]].push_back(node.name);
  }
  for (size_t tier = 1; tier < kTierCount; ++tier) {
    if (decided[tier].empty()) continue;
    notes.push_back(fmt::format("assumed to be {} tier, from the distance to hosts: {}",
                                NameOf(static_cast<Tier>(tier)), ForNote(decided[tier])));
  }
}

// Returns the pod of each node; kNone if it has none.
std::vector<uint32_t> Cabling::Pods() const {
  std::vector<uint32_t> pods(nodes_.size(), kNone);
  const auto in_pod = [this](size_t i) {
    return nodes_[i].tier == Tier::kLeaf || nodes_[i].tier == Tier::kSpine;
  };
  if (std::none_of(nodes_.begin(), nodes_.end(),
                   [](const Node& node) { return node.tier == Tier::kCore; })) {
    return pods;
  }
  // Disjoint sets of nodes (union-find with path halving).
  std::vector<size_t> parent(nodes_.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto find = [&parent](size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const Cable& cable : cables_) {
    if (in_pod(cable.a) && in_pod(cable.b)) parent[find(cable.a)] = find(cable.b);
  }
  std::unordered_map<size_t, uint32_t> number_of;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!in_pod(i)) continue;
    const auto next = static_cast<uint32_t>(number_of.size());
    pods[i] = number_of.try_emplace(find(i), next).first->second;
  }
  return pods;
}

Result<Conversion> Cabling::Build(std::string name, const ConvertOptions& options,
                                  YamlErrors& errors) {
  std::vector<std::string> notes;
  ApplyOptions(options);
  DecideTiers(errors, notes);
  if (!errors.empty()) return tl::unexpected(errors.Take());
  const std::vector<uint32_t> pods = Pods();
  Draft draft(errors);
  draft.SetName(IsPortName(name) ? std::move(name) : "");
  std::vector<NodeIndex> index(nodes_.size(), kNone);
  for (const bool switches : {true, false}) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if ((nodes_[i].tier != Tier::kHost) != switches) continue;
      index[i] = draft.Describe(nodes_[i].name, switches, nodes_[i].place);
      if (index[i] == kNone) return tl::unexpected(errors.Take());
      topology::Node& node = draft.parts().nodes[index[i]];
      node.tier = nodes_[i].tier.value_or(Tier::kHost);
      node.pod = pods[i];
    }
  }
  std::vector<uint32_t> nics(nodes_.size());
  const auto port = [&](size_t node, const std::string& port_name, Place place) {
    if (nodes_[node].tier != Tier::kHost) {
      return draft.RequirePortOf(index[node], port_name, place);
    }
    const std::string full = fmt::format("{}:{}", nodes_[node].name, port_name);
    if (const PortIndex known = draft.FindPort(full); known != kNone) return known;
    Nic nic = {.host = index[node], .device = port_name, .rail = nics[node]++};
    const NicIndex made = draft.AddNic(std::move(nic), port_name, 0, place);
    return made == kNone ? kNone : draft.parts().nics[made].port;
  };
  size_t within_tier = 0;
  for (const Cable& cable : cables_) {
    if (errors.full()) break;
    const PortIndex a = port(cable.a, cable.a_port, cable.place);
    const PortIndex b = port(cable.b, cable.b_port, cable.place);
    if (a == kNone || b == kNone) continue;
    if (cable.a == cable.b) {
      errors.Add(cable.place, fmt::format("a cable from {} to itself", nodes_[cable.a].name));
      continue;
    }
    within_tier += nodes_[cable.a].tier == nodes_[cable.b].tier;
    draft.AddLink(a, b, options.bits_per_second, options.delay, cable.place);
  }
  if (within_tier > 0) {
    notes.push_back(fmt::format("{} cables connect nodes of the same tier; routes do not use them",
                                within_tier));
  }
  for (size_t i = 0; i < nodes_.size() && options.gpus_per_host > 0; ++i) {
    if (nodes_[i].tier != Tier::kHost || nics[i] == 0) continue;
    for (uint32_t g = 0; g < options.gpus_per_host; ++g) {
      const uint32_t rail = g * nics[i] / options.gpus_per_host;
      draft.AddGpu(
          {.host = index[i], .number = g, .rail = rail, .nic = draft.NicsOf(index[i])[rail]},
          nodes_[i].place);
    }
  }
  auto fabric = draft.Build();
  if (!fabric) return tl::unexpected(fabric.error());
  return Conversion{.fabric = *std::move(fabric), .notes = std::move(notes)};
}

}  // namespace rocescope::topology
