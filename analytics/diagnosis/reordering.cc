// SPDX-License-Identifier: BSD-3-Clause
// Finds links on which packets overtake others of their flow. Receivers discard packets that arrive
// too early and send NAKs, as if the overtaken packet were lost.
//
// At a tap, each packet is new, late (a first copy after a later PSN) or retransmitted. A packet
// that is lost between two taps is retransmitted at the first one and late at the second one: the
// sum of both counts is the same at both taps. A packet that is overtaken between them is new at
// the first one and late at the second one: the sum increases.
#include "analytics/diagnosis/reordering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/suspects.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::NodeIndex;
using topology::PortIndex;

// Minimum number of windows with late packets. A changed path reorders packets once.
constexpr size_t kLeastReorderedWindows = 3;
// Minimum ratio of packets that are late without a loss to all late packets, and the reciprocal of
// the maximum.
constexpr double kLeastShare = 0.5;
// Maximum weight of all packets together, in independent votes: the shares of traffic with which
// they are compared are estimates.
constexpr double kMostReorderedVotes = 50;

// The windows in which packets count, by number since the epoch.
struct CountedWindows {
  int64_t first = 0;
  int64_t behind = 0;
};

CountedWindows CountedWindowsOf(const DiagnosisInput& input) {
  const int64_t first = input.parts().metrics.WindowOf(input.BeginOf(0));
  return {.first = first, .behind = first + static_cast<int64_t>(input.windows())};
}

double RepeatedOrLate(const LossObservation& tap) {
  return static_cast<double>(tap.late) + static_cast<double>(tap.retransmitted);
}

// Copies of retransmitted packets that the mirror may have lost.
double UnseenOf(const LossObservation& tap) {
  if (tap.packets == 0) return 0;
  const double share =
      static_cast<double>(std::max<int64_t>(tap.missing, 0)) / static_cast<double>(tap.packets);
  return 2 * share * RepeatedOrLate(tap);
}

// Compares two taps on the path of a flow.
std::optional<double> OvertakenBetween(const LossObservation& first, const LossObservation& last) {
  const double late = static_cast<double>(last.late) - static_cast<double>(first.late);
  if (late <= 0) return std::nullopt;
  const double more = RepeatedOrLate(last) - RepeatedOrLate(first) - UnseenOf(first);
  if (more < kLeastShare * late || more * kLeastShare > late) return std::nullopt;
  // If the mirror itself reorders copies, the sender has no reason to retransmit.
  if (RepeatedOrLate(first) < kLeastShare * late) return std::nullopt;
  return late;
}

std::optional<Overtaken> OvertakenOn(const DiagnosisInput& input, const std::vector<PortIndex>& way,
                                     const std::vector<LossObservation>& taps) {
  const LossObservation* first = nullptr;
  for (const PortIndex port : way) {
    const NodeIndex node = input.fabric().port(port).node;
    const auto at = std::ranges::find(taps, node, &LossObservation::node);
    if (at == taps.end()) continue;
    if (first != nullptr) {
      if (const auto packets = OvertakenBetween(*first, *at)) {
        return Overtaken{.after = first->node, .before = node, .packets = *packets};
      }
    }
    first = &*at;
  }
  return std::nullopt;
}

// Late packets of the flows in each window, where they were first late.
std::vector<double> LateByWindow(const DiagnosisInput& input,
                                 const std::map<FlowKey, Overtaken>& overtaken) {
  const CountedWindows range = CountedWindowsOf(input);
  std::vector<double> late(input.windows());
  for (const auto& [flow, of] : overtaken) {
    for (size_t w = 0; w < late.size(); ++w) {
      const int64_t window = range.first + static_cast<int64_t>(w);
      const auto taps = input.parts().losses.ObservationsOf(flow, window, window + 1);
      const auto at = std::ranges::find(taps, of.before, &LossObservation::node);
      if (at != taps.end()) late[w] += static_cast<double>(at->late);
    }
  }
  return late;
}

struct ReorderedWindows {
  size_t first = 0;
  size_t last = 0;
  size_t count = 0;                   // windows with late packets
  std::optional<size_t> detected_at;  // the first window in which all limits are reached
};

ReorderedWindows WindowsWithLate(const DiagnosisInput& input, const std::vector<double>& late) {
  ReorderedWindows windows;
  double sum = 0;
  for (size_t w = 0; w < late.size(); ++w) {
    if (late[w] == 0) continue;
    if (windows.count == 0) windows.first = w;
    windows.last = w;
    ++windows.count;
    sum += late[w];
    const bool suffices =
        windows.count >= kLeastReorderedWindows && sum >= input.thresholds().reordered_packets;
    if (suffices && !windows.detected_at) windows.detected_at = w;
  }
  return windows;
}

// Bytes of each flow, by the index of its path, through each link on which its packets may have
// been overtaken.
std::vector<Exposed> LinksBetween(const DiagnosisInput& input,
                                  const std::map<FlowKey, Overtaken>& overtaken, Timestamp from,
                                  Timestamp until) {
  std::map<PortIndex, Passed> passed;
  uint32_t number = 0;
  for (const FlowPath& path : input.parts().paths) {
    const auto of = overtaken.find(path.flow);
    for (const PathInterval& stretch : path.intervals) {
      const auto bytes = static_cast<double>(BytesWithin(stretch, from, until));
      if (bytes <= 0) continue;
      bool is_between = of == overtaken.end();
      for (const PortIndex port : stretch.certain) {
        const NodeIndex node = input.fabric().port(port).node;
        if (of != overtaken.end() && node == of->second.after) is_between = true;
        if (of != overtaken.end() && node == of->second.before) is_between = false;
        if (is_between) passed[port][number] += bytes;
      }
    }
    ++number;
  }
  std::vector<Exposed> exposed;
  for (auto& [port, bytes] : passed) {
    exposed.push_back({.kind = FaultKind::kReordering,
                       .place = {.kind = PlaceKind::kLink,
                                 .index = input.fabric().port(port).link,
                                 .sender = port},
                       .passed = std::move(bytes)});
  }
  return exposed;
}

}  // namespace

std::map<FlowKey, Overtaken> OvertakenPackets(const DiagnosisInput& input) {
  std::map<FlowKey, Overtaken> overtaken;
  if (input.windows() == 0 || input.is_spraying()) return overtaken;
  const CountedWindows range = CountedWindowsOf(input);
  double all = 0;
  for (const FlowPath& path : input.parts().paths) {
    const auto taps = input.parts().losses.ObservationsOf(path.flow, range.first, range.behind);
    if (taps.size() < 2) continue;
    for (const PathInterval& stretch : path.intervals) {
      // Packets that take several paths at the same time overtake each other.
      if (stretch.state == PathState::kSpread) continue;
      const auto found = OvertakenOn(input, stretch.certain, taps);
      if (!found) continue;
      overtaken[path.flow] = *found;
      all += found->packets;
      break;
    }
  }
  if (all < input.thresholds().reordered_packets) overtaken.clear();
  return overtaken;
}

ReorderedEnds EndsOfReordered(const DiagnosisInput& input) {
  ReorderedEnds ends;
  const std::map<FlowKey, Overtaken> overtaken = OvertakenPackets(input);
  if (overtaken.empty()) return ends;
  for (const FlowPath& path : input.parts().paths) {
    if (!overtaken.contains(path.flow)) continue;
    if (path.source != topology::kNone) ends.senders.insert(path.source);
    if (path.destination != topology::kNone) ends.receivers.insert(path.destination);
  }
  return ends;
}

void DetectReordering(const DiagnosisInput& input, Findings& found) {
  const std::map<FlowKey, Overtaken> overtaken = OvertakenPackets(input);
  if (overtaken.empty()) return;
  const ReorderedWindows windows = WindowsWithLate(input, LateByWindow(input, overtaken));
  if (!windows.detected_at) return;
  AffectedPackets votes;
  double all = 0;
  uint32_t number = 0;
  for (const FlowPath& path : input.parts().paths) {
    if (const auto at = overtaken.find(path.flow); at != overtaken.end()) {
      votes[number] = at->second.packets;
      all += at->second.packets;
    }
    ++number;
  }
  for (auto& [flow, packets] : votes) packets *= std::min(1.0, kMostReorderedVotes / all);
  const std::vector<Suspect> ranked = RankSuspects(
      LinksBetween(input, overtaken, input.BeginOf(windows.first), input.EndOf(windows.last)),
      votes);
  if (ranked.empty() || ranked[0].probability < input.thresholds().least_vote_confidence) return;
  Finding finding = {.basis = Basis::kVotes,
                     .from = input.BeginOf(windows.first),
                     .until = input.Until(windows.last),
                     .detected_at = input.EndOf(*windows.detected_at)};
  SetSuspects(ranked, finding);
  const double certain = input.thresholds().vote_confidence;
  finding.confidence *= certain;
  for (Suspect& rival : finding.alternatives) rival.probability *= certain;
  finding.evidence.push_back(fmt::format(
      "later packets overtook {} of {} between two mirrored switches; they were not lost, but "
      "receivers sent NAKs",
      Counted(static_cast<uint64_t>(std::llround(all)), "packet"),
      Counted(overtaken.size(), "flow")));
  found.push_back(std::move(finding));
}

TimeToDetection TimeToDetectReordering(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {.windows = kLeastReorderedWindows,
          .signs = fmt::format("{} reordered packets", thresholds.reordered_packets)};
}

}  // namespace rocescope
