// SPDX-License-Identifier: BSD-3-Clause
// Frames that one end of a link sent are received by the other end, counted there as errors, or
// still in flight. The rest is lost.
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

std::optional<Loss> FrameErrors(const DiagnosisInput& input, PortIndex sender) {
  const Row errored = input.Growth(input.EntityOf(input.fabric().Peer(sender)), Metric::kFcsErrors);
  Loss loss;
  for (size_t i = 0; i < errored.size(); ++i) {
    if (errored[i] == 0) continue;
    if (loss.frames == 0) loss.first = loss.detected_at = i;
    loss.frames += errored[i];
    loss.last = i;
  }
  return loss.frames == 0 ? std::nullopt : std::optional(loss);
}

using BothDirections = std::array<std::optional<Loss>, 2>;

void Join(const DiagnosisInput& input, LinkIndex index, FaultKind kind, const BothDirections& ways,
          Findings& found) {
  if (!ways[0] && !ways[1]) return;
  const topology::Link& link = input.fabric().link(index);
  Finding finding = {.kind = kind,
                     .place = {.kind = PlaceKind::kLink, .index = index},
                     .confidence = 0.98,
                     .from = Timestamp::max(),
                     .detected_at = Timestamp::max()};
  if (!ways[0] || !ways[1]) finding.place.sender = link.ends[ways[0] ? 0 : 1];
  size_t last = 0;
  uint64_t frames = 0;
  for (size_t end = 0; end < 2; ++end) {
    if (!ways[end]) continue;
    frames += ways[end]->frames;
    finding.from = std::min(finding.from, input.BeginOf(ways[end]->first));
    finding.detected_at = std::min(finding.detected_at, input.EndOf(ways[end]->detected_at));
    last = std::max(last, ways[end]->last);
    const std::string sender = input.fabric().NameOf(link.ends[end]);
    const std::string receiver = input.fabric().NameOf(link.ends[1 - end]);
    finding.evidence.push_back(
        kind == FaultKind::kBitErrors
            ? fmt::format("{} received {} with a wrong FCS", receiver,
                          Counted(ways[end]->frames, "frame"))
            : fmt::format("{} that {} sent did not arrive at {}, which counts no errors",
                          Counted(ways[end]->frames, "frame"), sender, receiver));
  }
  // The balance already decided that lost frames are beyond doubt.
  if (kind == FaultKind::kBitErrors)
    finding.confidence = ConfidenceFromCount(frames, finding.confidence);
  finding.until = input.Until(last);
  found.push_back(std::move(finding));
}

}  // namespace

void DetectLinkLoss(const DiagnosisInput& input, Findings& found) {
  const auto links = input.fabric().links();
  const Balances& balances = input.link_balances();
  std::vector<BothDirections> lost(links.size());
  std::vector<bool> loses(2 * links.size());
  for (LinkIndex i = 0; i < links.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      lost[i][end] = balances.LossAt(DirectionOf(i, end));
      loses[DirectionOf(i, end)] = lost[i][end].has_value();
    }
  }
  const std::vector<bool> disagree = SharedByMost(input, balances, loses);
  for (LinkIndex i = 0; i < links.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      if (disagree[DirectionOf(i, end)]) lost[i][end].reset();
    }
  }
  // Several links are unlikely to start losing so few frames each.
  const auto small = std::ranges::count_if(lost, [](const BothDirections& ways) {
    return std::ranges::any_of(ways, [](const auto& way) { return way && way->small; });
  });
  for (LinkIndex index = 0; index < links.size(); ++index) {
    BothDirections errored;
    for (size_t end = 0; end < 2; ++end) {
      std::optional<Loss>& way = lost[index][end];
      if (way && way->small && small > 1) way.reset();
      errored[end] = FrameErrors(input, links[index].ends[end]);
    }
    Join(input, index, FaultKind::kGrayLoss, lost[index], found);
    Join(input, index, FaultKind::kBitErrors, errored, found);
  }
}

}  // namespace rocescope
