// SPDX-License-Identifier: BSD-3-Clause
#include "topology/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "topology/route.h"

namespace rocescope::topology {
namespace {

constexpr size_t kMaxNamed = 3;

// Collects names for a note such as "3 NICs have no address: host0:mlx5_0, host1:mlx5_0,
// host2:mlx5_0".
class Oddity {
 public:
  template <typename NameOf>
  void Add(NameOf name_of) {
    if (++count_ <= kMaxNamed) names_ += (count_ == 1 ? "" : ", ") + name_of();
  }

  void AppendNote(std::string_view one, std::string_view many,
                  std::vector<std::string>& notes) const {
    if (count_ == 0) return;
    notes.push_back(fmt::format("{} {}: {}{}", count_, count_ == 1 ? one : many, names_,
                                count_ > kMaxNamed ? ", ..." : ""));
  }

 private:
  size_t count_ = 0;
  std::string names_;
};

void NoteLinks(const Fabric& fabric, Survey& survey) {
  Oddity within_tier;
  for (LinkIndex i = 0; i < fabric.links().size(); ++i) {
    const Link& link = fabric.link(i);
    const auto tier = [&](size_t end) {
      return fabric.node(fabric.port(link.ends[end]).node).tier;
    };
    for (const size_t end : {0, 1}) {
      TierSurvey& own = survey.tiers[static_cast<size_t>(tier(end))];
      if (tier(end) > tier(1 - end)) own.down_bits_per_second += link.bits_per_second;
      if (tier(end) < tier(1 - end)) own.up_bits_per_second += link.bits_per_second;
    }
    if (tier(0) == tier(1)) within_tier.Add([&] { return fabric.NameOfLink(i); });
  }
  within_tier.AppendNote("link connects nodes of the same tier and carries no traffic",
                         "links connect nodes of the same tier and carry no traffic", survey.notes);
}

void NoteNics(const Fabric& fabric, Survey& survey) {
  Oddity unplugged;
  Oddity nameless;
  std::set<uint32_t> rails;
  for (const Nic& nic : fabric.nics()) {
    rails.insert(nic.rail);
    const auto name = [&] { return fabric.node(nic.host).name + ":" + nic.device; };
    if (fabric.Peer(nic.port) == kNone) unplugged.Add(name);
    if (nic.addresses.empty()) nameless.Add(name);
  }
  survey.rails = rails.size();
  unplugged.AppendNote("NIC is not connected", "NICs are not connected", survey.notes);
  nameless.AppendNote("NIC has no address, so its packets cannot be attributed",
                      "NICs have no address, so their packets cannot be attributed", survey.notes);
}

// NCCL writes host names only up to the first dot, and case does not matter (RFC 4343).
void NoteHosts(const Fabric& fabric, Survey& survey) {
  std::map<std::string, std::string> first_of;  // by the key of its name
  Oddity ambiguous;
  for (const Node& node : fabric.nodes()) {
    if (node.IsSwitch()) continue;
    std::string key = node.name.substr(0, node.name.find('.'));
    std::ranges::transform(key, key.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto [first, is_new] = first_of.emplace(std::move(key), node.name);
    if (!is_new) ambiguous.Add([&] { return first->second + " and " + node.name; });
  }
  ambiguous.AppendNote(
      "host name equals another one up to the first dot, so NCCL logs cannot distinguish the hosts",
      "host names equal another one up to the first dot, so NCCL logs cannot distinguish the hosts",
      survey.notes);
}

void NoteSwitches(const Fabric& fabric, Survey& survey) {
  Oddity nameless;
  Oddity unnamed_mirrors;
  for (const Node& node : fabric.nodes()) {
    if (!node.IsSwitch()) continue;
    ++survey.switches;
    if (node.erspan_source.IsUnspecified() && node.sflow_agent.IsUnspecified() &&
        node.int_switch_id == kNone) {
      nameless.Add([&] { return node.name; });
    }
  }
  for (const Tap& tap : fabric.taps()) {
    const Node& node = fabric.node(tap.node);
    if (!node.erspan_source.IsUnspecified()) continue;
    unnamed_mirrors.Add([&] { return fmt::format("{} session {}", node.name, tap.session); });
  }
  nameless.AppendNote("switch has no ERSPAN source, sFlow agent or INT switch id",
                      "switches have no ERSPAN source, sFlow agent or INT switch id", survey.notes);
  unnamed_mirrors.AppendNote("mirror session is on a switch without an ERSPAN source",
                             "mirror sessions are on switches without an ERSPAN source",
                             survey.notes);
}

// Notes pairs of edge switches without a path between them.
void NoteGaps(const Fabric& fabric, Survey& survey) {
  Routes routes(fabric);
  std::vector<NicIndex> nic_at(fabric.nodes().size(), kNone);
  for (NicIndex i = 0; i < fabric.nics().size(); ++i) {
    if (routes.EdgeOf(i) != kNone && nic_at[routes.EdgeOf(i)] == kNone)
      nic_at[routes.EdgeOf(i)] = i;
  }
  Oddity gaps;
  for (NodeIndex to = 0; to < nic_at.size(); ++to) {
    if (nic_at[to] == kNone) continue;
    for (NodeIndex from = 0; from < to; ++from) {
      if (nic_at[from] == kNone || routes.Distance(from, nic_at[to]) != kNone) continue;
      gaps.Add([&] { return fabric.node(from).name + " and " + fabric.node(to).name; });
    }
  }
  gaps.AppendNote("pair of edge switches has no path between them",
                  "pairs of edge switches have no path between them", survey.notes);
}

}  // namespace

Survey SurveyOf(const Fabric& fabric) {
  Survey survey;
  for (const Node& node : fabric.nodes()) {
    TierSurvey& tier = survey.tiers[static_cast<size_t>(node.tier)];
    ++tier.nodes;
    tier.ports += node.port_count;
  }
  for (const Port& port : fabric.ports()) {
    survey.tiers[static_cast<size_t>(fabric.node(port.node).tier)].plugged += port.link != kNone;
  }
  NoteLinks(fabric, survey);
  NoteNics(fabric, survey);
  NoteHosts(fabric, survey);
  NoteSwitches(fabric, survey);
  NoteGaps(fabric, survey);
  return survey;
}

}  // namespace rocescope::topology
