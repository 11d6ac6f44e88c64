// SPDX-License-Identifier: BSD-3-Clause
// Two cables whose far ends were exchanged: what an end of the one sent an end of the other
// received, frame by frame, and neither link's own sums agree.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/link_balance.h"

namespace rocescope {
namespace {

using topology::LinkIndex;
using topology::PortIndex;

int64_t FullOf(const Balance& balance) {
  return balance.full.empty() ? 0 : *std::ranges::max_element(balance.full);
}

int64_t OffBy(const Balance& balance) {
  int64_t most = 0;
  for (const int64_t frames : balance.missing) {
    if (frames != Balance::kUnread) most = std::max(most, std::abs(frames));
  }
  return most;
}

// More than any number that can be under way, and windows say since when.
struct Unbalanced {
  LinkIndex link = topology::kNone;
  size_t first = 0;
  size_t verdict = 0;
};

constexpr int64_t kManyTimes = 10;  // as many as can be under way

std::optional<Unbalanced> UnbalancedLink(const Scene& scene, LinkIndex index) {
  const topology::Link& link = scene.fabric().link(index);
  std::optional<Unbalanced> found;
  for (size_t end = 0; end < 2; ++end) {
    const Balance balance = LinkBalance(scene, link.ends[end], link.ends[1 - end]);
    const int64_t full = FullOf(balance);
    if (OffBy(balance) < kManyTimes * full) continue;
    const auto beyond = [&](int64_t frames) {
      const auto at = std::ranges::find_if(balance.missing, [&](int64_t missing) {
        return missing != Balance::kUnread && std::abs(missing) > frames;
      });
      return static_cast<size_t>(at - balance.missing.begin());
    };
    if (balance.missing.empty()) continue;
    const Unbalanced way = {
        .link = index, .first = beyond(full), .verdict = beyond(kManyTimes * full - 1)};
    if (!found || way.verdict < found->verdict) found = way;
  }
  return found;
}

// Hardly anything missing; from one that sends nothing, nothing comes.
bool Receives(const Scene& scene, PortIndex sender, PortIndex receiver) {
  const Entity to = scene.EntityOf(receiver);
  if (!scene.AreSimultaneous(scene.EntityOf(sender), Metric::kTxPackets, to, Metric::kRxPackets)) {
    return false;
  }
  const Balance way = LinkBalance(scene, sender, receiver);
  if (!way.missing.empty()) return OffBy(way) <= FullOf(way);
  const Row received = scene.Growth(to, Metric::kRxPackets);
  return std::ranges::all_of(received, [](uint64_t frames) { return frames == 0; });
}

bool AreConnected(const Scene& scene, PortIndex a, PortIndex b) {
  return Receives(scene, a, b) && Receives(scene, b, a);
}

// Which of b's ends a's first is connected with, if one of the two exchanges explains all.
std::optional<size_t> CrossedWith(const Scene& scene, const topology::Link& a,
                                  const topology::Link& b) {
  for (size_t end = 0; end < 2; ++end) {
    if (AreConnected(scene, a.ends[0], b.ends[end]) &&
        AreConnected(scene, a.ends[1], b.ends[1 - end])) {
      return end;
    }
  }
  return std::nullopt;
}

bool IsKnown(const Scene& scene, LinkIndex link) {
  return std::ranges::any_of(scene.parts().cabling.findings, [&](const CableFinding& cable) {
    return cable.kind == CableFindingKind::kSwapped &&
           std::ranges::find(cable.declared, link) != cable.declared.end();
  });
}

}  // namespace

void DetectCrossedLinks(const Scene& scene, Findings& found) {
  const topology::Fabric& fabric = scene.fabric();
  std::vector<Unbalanced> unbalanced;
  for (LinkIndex index = 0; index < fabric.links().size(); ++index) {
    if (IsKnown(scene, index)) continue;
    if (const auto link = UnbalancedLink(scene, index)) unbalanced.push_back(*link);
  }
  for (size_t i = 0; i < unbalanced.size(); ++i) {
    for (size_t j = i + 1; j < unbalanced.size(); ++j) {
      const topology::Link& a = fabric.link(unbalanced[i].link);
      const topology::Link& b = fabric.link(unbalanced[j].link);
      const auto end = CrossedWith(scene, a, b);
      if (!end) continue;
      Finding finding = {
          .kind = FindingKind::kSwappedCables,
          .place = {.kind = PlaceKind::kLink, .index = unbalanced[i].link},
          .confidence = 0.97,
          .from = scene.BeginOf(std::min(unbalanced[i].first, unbalanced[j].first)),
          .verdict = scene.EndOf(std::max(unbalanced[i].verdict, unbalanced[j].verdict))};
      for (size_t of_a = 0; of_a < 2; ++of_a) {
        finding.evidence.push_back(fmt::format(
            "{} is connected with {}: what either sends the other receives",
            fabric.NameOf(a.ends[of_a]), fabric.NameOf(b.ends[of_a == 0 ? *end : 1 - *end])));
      }
      finding.symptoms.push_back({.kind = FindingKind::kSwappedCables,
                                  .place = {.kind = PlaceKind::kLink, .index = unbalanced[j].link},
                                  .probability = finding.confidence});
      found.push_back(std::move(finding));
    }
  }
}

}  // namespace rocescope
