// SPDX-License-Identifier: BSD-3-Clause
// What one end of a link sent in all is what the other received, found broken, or what is still
// under way.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "analytics/diagnosis/link_balance.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::LinkIndex;
using topology::PortIndex;

std::optional<Loss> BrokenFrames(const Scene& scene, PortIndex sender) {
  const Row broken = scene.Growth(scene.EntityOf(scene.fabric().Peer(sender)), Metric::kFcsErrors);
  Loss loss;
  for (size_t i = 0; i < broken.size(); ++i) {
    if (broken[i] == 0) continue;
    if (loss.frames == 0) loss.first = loss.verdict = i;
    loss.frames += broken[i];
    loss.last = i;
  }
  return loss.frames == 0 ? std::nullopt : std::optional(loss);
}

using BothWays = std::array<std::optional<Loss>, 2>;

void Join(const Scene& scene, LinkIndex index, FindingKind kind, const BothWays& ways,
          Findings& found) {
  if (!ways[0] && !ways[1]) return;
  const topology::Link& link = scene.fabric().link(index);
  Finding finding = {.kind = kind,
                     .place = {.kind = PlaceKind::kLink, .index = index},
                     .confidence = 0.98,
                     .from = Timestamp::max(),
                     .verdict = Timestamp::max()};
  if (!ways[0] || !ways[1]) finding.place.sender = link.ends[ways[0] ? 0 : 1];
  size_t last = 0;
  uint64_t frames = 0;
  for (size_t end = 0; end < 2; ++end) {
    if (!ways[end]) continue;
    frames += ways[end]->frames;
    finding.from = std::min(finding.from, scene.BeginOf(ways[end]->first));
    finding.verdict = std::min(finding.verdict, scene.EndOf(ways[end]->verdict));
    last = std::max(last, ways[end]->last);
    const std::string sender = scene.fabric().NameOf(link.ends[end]);
    const std::string receiver = scene.fabric().NameOf(link.ends[1 - end]);
    finding.evidence.push_back(
        kind == FindingKind::kBitErrors
            ? fmt::format("{} got {} with a wrong check sequence", receiver,
                          Counted(ways[end]->frames, "frame"))
            : fmt::format("{} that {} sent never came to {}, which counts no errors",
                          Counted(ways[end]->frames, "frame"), sender, receiver));
  }
  // Of lost frames their balance has said already that they are beyond doubt.
  if (kind == FindingKind::kBitErrors) finding.confidence = ConfidenceFromCount(frames, finding.confidence);
  finding.until = scene.Until(last);
  found.push_back(std::move(finding));
}

}  // namespace

void DetectLinkLoss(const Scene& scene, Findings& found) {
  const auto links = scene.fabric().links();
  const Balances& balances = scene.link_balances();
  std::vector<BothWays> lost(links.size());
  std::vector<bool> loses(2 * links.size());
  for (LinkIndex i = 0; i < links.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      lost[i][end] = balances.LossAt(PathOf(i, end));
      loses[PathOf(i, end)] = lost[i][end].has_value();
    }
  }
  const std::vector<bool> disagree = SharedByMost(scene, balances, loses);
  for (LinkIndex i = 0; i < links.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      if (disagree[PathOf(i, end)]) lost[i][end].reset();
    }
  }
  // Several links do not begin to lose so little each.
  const auto small = std::ranges::count_if(lost, [](const BothWays& ways) {
    return std::ranges::any_of(ways, [](const auto& way) { return way && way->small; });
  });
  for (LinkIndex index = 0; index < links.size(); ++index) {
    BothWays broken;
    for (size_t end = 0; end < 2; ++end) {
      std::optional<Loss>& way = lost[index][end];
      if (way && way->small && small > 1) way.reset();
      broken[end] = BrokenFrames(scene, links[index].ends[end]);
    }
    Join(scene, index, FindingKind::kGrayLoss, lost[index], found);
    Join(scene, index, FindingKind::kBitErrors, broken, found);
  }
}

}  // namespace rocescope
