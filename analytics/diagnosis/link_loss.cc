// SPDX-License-Identifier: BSD-3-Clause
// Frames that one end of a link sent are received by the other end, counted there as errors, or
// still in flight. The rest is lost. Errors are a fault if there are more than tolerated
// (analytics/link).
#include "analytics/diagnosis/link_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/link_balance.h"
#include "analytics/diagnosis/link_history.h"
#include "analytics/diagnosis/loss_signs.h"
#include "analytics/diagnosis/recurrence.h"
#include "analytics/diagnosis/switch_balance.h"
#include "analytics/diagnosis/unusable_counters.h"
#include "analytics/link/error_rate.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

// Confidence in silent loss if the receiver does not count damaged frames.
constexpr double kNoErrorCounter = 0.6;
// Confidence in silent loss that is estimated (RepeatedReadings). It is lower than that of a proof,
// and no campaign has calibrated it yet.
constexpr double kEstimatedLoss = 0.9;

using topology::LinkIndex;
using topology::PortIndex;

// Silent loss in the direction from one end of a link.
struct SilentLoss {
  size_t end = 0;
  uint64_t frames = 0;
  Timestamp from;
  Timestamp detected_at;
  Timestamp last;  // when it showed last
  std::optional<Timestamp> until;
  bool small = false;
  bool is_certain = true;
  bool has_direction = true;  // false: frames of any direction are lost
  std::string evidence;
};
using BothDirections = std::array<std::vector<SilentLoss>, 2>;

// Whether the loss is explained by the link going down meanwhile: until a port notices that its
// link is down, it sends frames that do not arrive.
bool IsLostByFalls(const DiagnosisInput& input, LinkIndex index, const LinkLoss& loss) {
  constexpr double kNotice = 0.01;  // seconds until a port notices it
  constexpr double kFrameBits = 8 * 4096;
  LinkHistory history = HistoryOf(input, index);
  if (!history.any) return false;
  const MetricStore& metrics = input.parts().metrics;
  if (loss.last < input.BeginOf(0)) return false;  // before the stored windows
  const size_t behind = input.PlaceOf(metrics.WindowOf(loss.last) + 2);
  const size_t first = input.PlaceOf(metrics.WindowOf(std::max(loss.from, input.BeginOf(0))));
  history.Explain(0, first - std::min<size_t>(first, 1));
  history.Explain(std::min(behind, input.windows()), input.windows());
  history.Summarise();
  const auto falls = static_cast<double>(std::max<uint64_t>(history.times, 1));
  const double most = falls * kNotice *
                      static_cast<double>(input.fabric().link(index).bits_per_second) / kFrameBits;
  return history.any && static_cast<double>(loss.frames) <= most;
}

// Whether the counters of both ends contradict each other. If one end counts what it sends as
// received and the other way round, equally many frames seem to be lost in both directions.
bool IsContradicted(const DiagnosisInput& input, LinkIndex index) {
  const auto& ends = input.fabric().link(index).ends;
  if (HasSurplus(input, ends[0]) || HasSurplus(input, ends[1])) return true;
  const Balances& balances = input.link_balances();
  const auto there = balances.LossAt(DirectionOf(index, 0));
  const auto back = balances.LossAt(DirectionOf(index, 1));
  if (!there || !back) return false;
  const auto apart = std::max(there->frames, back->frames) - std::min(there->frames, back->frames);
  return static_cast<int64_t>(apart) <=
         FullOf(balances.At(DirectionOf(index, 0))) + FullOf(balances.At(DirectionOf(index, 1)));
}

// Whether most links of a node show contradictory counters, so that the node counts other frames
// than its neighbours.
bool DoMostContradict(const DiagnosisInput& input, topology::NodeIndex node) {
  constexpr size_t kLeast = 3;  // links
  size_t links = 0;
  size_t contradicted = 0;
  for (const topology::Port& port : input.fabric().PortsOf(node)) {
    if (port.link == topology::kNone) continue;
    ++links;
    contradicted += IsContradicted(input, port.link);
  }
  return contradicted >= kLeast && 2 * contradicted > links;
}

// From the first to the last window, both included.
struct Windows {
  size_t first = 0;
  size_t last = 0;
};

// Whether the byte counters of both ends rule out that so many frames were lost in these windows,
// or without windows in the whole time: at least their bytes would be missing, too.
bool DoBytesArrive(const DiagnosisInput& input, PortIndex sender, std::optional<Windows> windows,
                   uint64_t frames, int64_t in_flight) {
  const Entity from = input.EntityOf(sender);
  const Entity to = input.EntityOf(input.fabric().Peer(sender));
  if (!input.HasMetric(from, Metric::kTxBytes) || !input.HasMetric(to, Metric::kRxBytes)) {
    return false;
  }
  const Row sent = input.Growth(from, Metric::kTxBytes);
  const Row received = input.Growth(to, Metric::kRxBytes);
  double missing = 0;
  if (windows) {
    const size_t end = std::min(windows->last + 1, sent.size());
    for (size_t w = windows->first; w < end; ++w) {
      if (!input.IsKnown(from, Metric::kTxBytes, w) || !input.IsKnown(to, Metric::kRxBytes, w)) {
        return false;
      }
      missing += static_cast<double>(sent[w]) - static_cast<double>(received[w]);
    }
  } else {
    const MetricSeries& all_sent = *input.parts().metrics.Find(from, Metric::kTxBytes);
    const MetricSeries& all_received = *input.parts().metrics.Find(to, Metric::kRxBytes);
    if (all_sent.restarts() > 0 || all_received.restarts() > 0) return false;
    missing = static_cast<double>(all_sent.total()) - static_cast<double>(all_received.total());
  }
  // Readings at different times, and cached ones, attribute bytes to other windows.
  constexpr double kApart = 6;  // windows
  const uint64_t most = std::max(std::ranges::max(sent), std::ranges::max(received));
  const bool is_exact =
      windows && input.AreSimultaneous(from, Metric::kTxBytes, to, Metric::kRxBytes);
  const double length = MeanLengthOf(input, from);
  const double uncertain =
      is_exact ? length * static_cast<double>(in_flight) : kApart * static_cast<double>(most);
  // Otherwise the two ends count other bytes: one of them without the FCS, or with 32 bits.
  const bool do_agree = std::abs(missing) <= uncertain;
  return most > 0 && do_agree && static_cast<double>(frames) * kShortestFrame > missing + uncertain;
}

struct LossesOneWay {
  std::vector<SilentLoss> losses;
  bool is_refuted = false;  // packets seem to be lost, but their bytes arrive
};

// Compares sums of counters that are read at the same time. Otherwise, only bounds are known.
LossesOneWay LossesFrom(const DiagnosisInput& input, LinkIndex index, size_t end) {
  const topology::Link& link = input.fabric().link(index);
  const auto sender = [&] { return input.fabric().NameOf(link.ends[end]); };
  const auto receiver = [&] { return input.fabric().NameOf(link.ends[1 - end]); };
  const Balances& balances = input.link_balances();
  const size_t way = DirectionOf(index, end);
  const auto do_most_contradict = [&](PortIndex port) {
    return DoMostContradict(input, input.fabric().port(port).node);
  };
  if (!balances.At(way).missing.empty()) {
    const std::optional<Loss> loss = balances.LossAt(way);
    if (!loss || std::ranges::any_of(link.ends, do_most_contradict)) return {};
    if (DoBytesArrive(input, link.ends[end], Windows{0, input.windows() - 1}, loss->frames,
                      FullOf(balances.At(way)))) {
      return {.is_refuted = true};
    }
    return {.losses = {SilentLoss{
                .end = end,
                .frames = loss->frames,
                .from = input.BeginOf(loss->first),
                .detected_at = input.EndOf(loss->detected_at),
                .last = input.EndOf(loss->last),
                .until = input.Until(loss->last),
                .small = loss->small,
                .evidence = fmt::format(
                    "{} that {} sent did not arrive at {}, which does not count them as errors",
                    Counted(loss->frames, "frame"), sender(), receiver())}}};
  }
  LossesOneWay found;
  const MetricStore& metrics = input.parts().metrics;
  if (!AreUsable(input, link.ends[end], link.ends[1 - end])) return found;
  const auto bounds = input.parts().link_losses.LossesFrom(link.ends[end]);
  if (!bounds.empty() && std::ranges::any_of(link.ends, do_most_contradict)) return found;
  for (const LinkLoss& loss : bounds) {
    if (IsLostByFalls(input, index, loss)) continue;
    std::optional<Windows> windows;
    if (loss.from >= input.BeginOf(0)) {
      windows = {.first = input.PlaceOf(metrics.WindowOf(loss.from)),
                 .last = input.PlaceOf(metrics.WindowOf(loss.last))};
    }
    if (DoBytesArrive(input, link.ends[end], windows, loss.frames, 0)) {
      found.is_refuted = true;
      continue;
    }
    // The bounds only show that the loss began after the last time at which the link was idle.
    SilentLoss lost = {.end = end,
                       .frames = loss.frames,
                       .from = FirstSignOfLoss(input, loss.from, loss.detected_at),
                       .detected_at = loss.detected_at,
                       .last = loss.last,
                       .is_certain = loss.is_certain};
    if (loss.is_over) lost.until = loss.last;
    lost.evidence = fmt::format(
        "{} {} of {} that {} sent did not arrive at {}, which does not count them as "
        "errors{}",
        loss.is_certain ? "at least" : "about", Counted(loss.frames, "frame"),
        Rounded(static_cast<double>(loss.sent), 3), sender(), receiver(),
        loss.is_certain ? ""
                        : "; estimated from readings of both ports in the same traffic pauses");
    found.losses.push_back(std::move(lost));
  }
  return found;
}

// A loss that counters show only for both directions together, whenever they are read.
std::optional<SilentLoss> LossOfLink(const DiagnosisInput& input, LinkIndex index) {
  const LossTrend::Loss* loss = input.parts().link_losses.TrendOf(index);
  const topology::Link& link = input.fabric().link(index);
  if (loss == nullptr || !AreUsable(input, link.ends[0], link.ends[1]) ||
      !AreUsable(input, link.ends[1], link.ends[0]) ||
      std::ranges::any_of(link.ends, [&](PortIndex port) {
        return DoMostContradict(input, input.fabric().port(port).node);
      })) {
    return std::nullopt;
  }
  SilentLoss lost = {.frames = static_cast<uint64_t>(loss->frames),
                     .from = FirstSignOfLoss(input, loss->from, loss->detected_at),
                     .detected_at = loss->detected_at,
                     .last = loss->last,
                     .is_certain = false,
                     .has_direction = false};
  if (loss->is_over) lost.until = loss->last;
  lost.evidence = fmt::format(
      "about {} of {} that this link carried did not arrive, and no counter contains them as "
      "errors: in both directions together, the difference between the counters of its ends grows "
      "with the traffic, independent of the reading times",
      Counted(lost.frames, "frame"), Rounded(loss->sent, 3));
  return lost;
}

// Adds losses in one or both directions of a link as one finding.
void AddGrayLoss(const DiagnosisInput& input, LinkIndex index, std::span<const SilentLoss> losses,
                 Findings& found) {
  const topology::Link& link = input.fabric().link(index);
  Finding finding = {.kind = FaultKind::kGrayLoss,
                     .place = {.kind = PlaceKind::kLink, .index = index},
                     .confidence = 0.98,
                     .from = Timestamp::max(),
                     .until = Timestamp::min(),
                     .detected_at = Timestamp::max()};
  if (losses.size() == 1 && losses[0].has_direction) {
    finding.place.sender = link.ends[losses[0].end];
  }
  if (!std::ranges::all_of(losses, &SilentLoss::is_certain)) {
    finding.confidence = kEstimatedLoss;
  }
  CountedLoss counted;
  for (const SilentLoss& loss : losses) {
    counted.frames += loss.frames;
    counted.last = std::max(counted.last, loss.last);
    finding.from = std::min(finding.from, loss.from);
    finding.detected_at = std::min(finding.detected_at, loss.detected_at);
    if (!loss.until) {
      finding.until.reset();
    } else if (finding.until) {
      finding.until = std::max(*finding.until, *loss.until);
    }
    finding.evidence.push_back(loss.evidence);
  }
  // Without error counters, damaged frames look the same.
  for (const SilentLoss& loss : losses) {
    const Entity receiver = input.EntityOf(link.ends[1 - loss.end]);
    if (input.HasMetric(receiver, input.ErrorMetricOf(receiver))) continue;
    finding.confidence = kNoErrorCounter;
    finding.alternatives = {{.kind = FaultKind::kBitErrors,
                             .place = finding.place,
                             .probability = 1 - kNoErrorCounter}};
    finding.further = {
        "error counters of the receiving port: they distinguish silent loss from bit errors"};
  }
  counted.from = finding.from;
  DoubtLoss(input, counted, finding);
  found.push_back(std::move(finding));
}

// Losses in both directions are one finding if the pause between them is short.
void AddGrayLosses(const DiagnosisInput& input, LinkIndex index, const BothDirections& ways,
                   Findings& found) {
  std::vector<SilentLoss> losses = ways[0];
  losses.insert(losses.end(), ways[1].begin(), ways[1].end());
  std::ranges::stable_sort(losses, {}, &SilentLoss::from);
  for (auto first = losses.begin(); first != losses.end();) {
    auto behind = first + 1;
    while (
        behind != losses.end() && behind->end != std::prev(behind)->end &&
        (!std::prev(behind)->until || behind->from <= *std::prev(behind)->until + kLongestPause)) {
      ++behind;
    }
    AddGrayLoss(input, index, std::span(first, behind), found);
    first = behind;
  }
}

// Bit errors in the direction from one end of the link.
struct OneWay {
  size_t end = 0;
  ErrorEpisode episode;
};

// Whether the port counted errors in many windows.
bool IsSteady(const DiagnosisInput& input, PortIndex receiver) {
  constexpr ptrdiff_t kMany = 8;
  const Entity entity = input.EntityOf(receiver);
  const Row errors = input.Growth(entity, input.ErrorMetricOf(entity));
  return std::ranges::count_if(errors, [](uint64_t value) { return value > 0; }) >= kMany;
}

// Episodes of both directions at the same time are one finding.
void AddBitErrors(const DiagnosisInput& input, LinkIndex index, Findings& found) {
  const topology::Link& link = input.fabric().link(index);
  std::vector<OneWay> ways;
  for (size_t end = 0; end < 2; ++end) {
    if (!CountsExposure(input, link.ends[1 - end])) continue;
    for (const ErrorEpisode& episode : input.parts().link_errors.EpisodesOf(link.ends[1 - end])) {
      ways.push_back({.end = end, .episode = episode});
    }
  }
  std::ranges::stable_sort(ways, {}, [](const OneWay& way) { return way.episode.from; });
  const OneWay* before = nullptr;
  CountedLoss counted;  // the finding that was added last
  for (const OneWay& way : ways) {
    const ErrorEpisode& episode = way.episode;
    const bool joins = before != nullptr && before->end != way.end &&
                       (!before->episode.is_over || episode.from <= before->episode.last);
    before = &way;
    if (!joins) {
      if (counted.frames > 0) DoubtLoss(input, counted, found.back());
      counted = {.from = episode.from};
      found.push_back(
          {.kind = FaultKind::kBitErrors,
           .place = {.kind = PlaceKind::kLink, .index = index, .sender = link.ends[way.end]},
           .confidence = 0.98,
           .from = episode.from,
           .until = Timestamp::min(),
           .detected_at = episode.detected_at});
    }
    Finding& finding = found.back();
    if (joins) finding.place.sender = topology::kNone;
    finding.detected_at = std::min(finding.detected_at, episode.detected_at);
    if (!episode.is_over) {
      finding.until.reset();
    } else if (finding.until) {
      finding.until = std::max(*finding.until, episode.last);
    }
    counted.frames += episode.errors;
    counted.last = std::max(counted.last, episode.last);
    counted.is_steady |= IsSteady(input, link.ends[1 - way.end]);
    const Entity receiver = input.EntityOf(link.ends[1 - way.end]);
    const bool has_fcs = input.ErrorMetricOf(receiver) == Metric::kFcsErrors;
    finding.evidence.push_back(
        fmt::format("{} received {} {} among {} frames (1 in {}; tolerated: 1 in {})",
                    input.fabric().NameOf(link.ends[1 - way.end]), Counted(episode.errors, "frame"),
                    has_fcs ? "with a wrong FCS" : "with errors", Rounded(episode.frames, 3),
                    Rounded(episode.frames / static_cast<double>(episode.errors), 2),
                    Rounded(1 / input.thresholds().tolerated_frame_errors, 2)));
  }
  if (counted.frames > 0) DoubtLoss(input, counted, found.back());
}

struct LossesOfLinks {
  std::vector<BothDirections> lost;  // by link
  std::vector<PortIndex> refuted;    // sending ports whose lost packets have arrived; ascending
};

LossesOfLinks LossesOf(const DiagnosisInput& input) {
  LossesOfLinks all = {.lost = std::vector<BothDirections>(input.fabric().links().size())};
  for (LinkIndex i = 0; i < all.lost.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      LossesOneWay found = LossesFrom(input, i, end);
      all.lost[i][end] = std::move(found.losses);
      if (found.is_refuted) all.refuted.push_back(input.fabric().link(i).ends[end]);
    }
    if (!all.lost[i][0].empty() || !all.lost[i][1].empty()) continue;
    if (auto loss = LossOfLink(input, i)) all.lost[i][0].push_back(*std::move(loss));
  }
  std::ranges::sort(all.refuted);
  return all;
}

// Directions that lose frames only because their ends count differently.
std::vector<bool> Disagreements(const DiagnosisInput& input,
                                const std::vector<BothDirections>& lost) {
  std::vector<bool> loses(2 * lost.size());
  for (LinkIndex i = 0; i < lost.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) loses[DirectionOf(i, end)] = !lost[i][end].empty();
  }
  if (std::ranges::none_of(loses, std::identity())) return loses;
  return SharedByMost(input, loses);
}

}  // namespace

Mismatches MismatchesIn(const DiagnosisInput& input) {
  LossesOfLinks all = LossesOf(input);
  const std::vector<bool> disagree = Disagreements(input, all.lost);
  Mismatches mismatches = {.refuted = std::move(all.refuted)};
  for (size_t way = 0; way < disagree.size(); ++way) {
    if (!disagree[way]) continue;
    mismatches.shared.push_back(input.fabric().link(static_cast<LinkIndex>(way / 2)).ends[way % 2]);
  }
  std::ranges::sort(mismatches.shared);
  return mismatches;
}

void DetectLinkLoss(const DiagnosisInput& input, Findings& found) {
  const auto links = input.fabric().links();
  std::vector<BothDirections> lost = LossesOf(input).lost;
  const std::vector<bool> disagree = Disagreements(input, lost);
  for (LinkIndex i = 0; i < links.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      if (disagree[DirectionOf(i, end)]) lost[i][end].clear();
    }
  }
  // Several links are unlikely to start losing so few frames each.
  const auto small = std::ranges::count_if(lost, [](const BothDirections& ways) {
    return std::ranges::any_of(
        ways, [](const auto& way) { return std::ranges::any_of(way, &SilentLoss::small); });
  });
  for (LinkIndex index = 0; index < links.size(); ++index) {
    for (std::vector<SilentLoss>& way : lost[index]) {
      if (small > 1) std::erase_if(way, [](const SilentLoss& loss) { return loss.small; });
    }
    AddGrayLosses(input, index, lost[index], found);
    AddBitErrors(input, index, found);
  }
}

TimeToDetection TimeToDetectLinkLoss(FaultKind kind, const Thresholds& thresholds) {
  if (kind == FaultKind::kBitErrors) {
    return {.signs =
                fmt::format("{} damaged frames, and certainly more than 1 in {:.0f} frames",
                            ErrorRateTest::kLeastErrors, 1 / thresholds.tolerated_frame_errors)};
  }
  return {
      .windows = Balances::kLeastReadings,
      .signs = fmt::format("more missing frames than can be in flight; with counters that are "
                           "read at different times, {} lost frames and an idle time of the link "
                           "afterwards, or one before and several traffic pauses afterwards",
                           LinkLosses::kLeastFrames)};
}

}  // namespace rocescope
