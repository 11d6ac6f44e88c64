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
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/suspects.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

// Minimum number of windows with overtaken packets. A changed path reorders packets once.
constexpr size_t kLeastReorderedWindows = 3;
// A flow is reordered if at least this fraction of its late packets is late without a loss, and if
// there are at most 1 / kLeastShare times as many.
constexpr double kLeastShare = 0.5;
// Minimum number of overtaken packets of a flow. Fewer can be differences between two taps.
constexpr double kLeastOvertaken = 3;
// Maximum weight of all packets together, in independent votes: the shares of traffic with which
// they are compared are estimates.
constexpr double kMostReorderedVotes = 50;

// Windows by number since the epoch.
struct Stretch {
  int64_t first = 0;
  int64_t behind = 0;
};

double RepeatedOrLate(const TapWindow& window) {
  return static_cast<double>(window.late) + static_cast<double>(window.retransmitted);
}

// Estimates an upper limit of the repeated copies that the mirror has lost: twice the expected
// number, and three standard deviations.
double UnseenOf(const TapWindow& window) {
  if (window.missing <= 0 || window.packets == 0) return 0;
  const double expected = static_cast<double>(window.missing) /
                          static_cast<double>(window.packets) * RepeatedOrLate(window);
  return 2 * expected + 3 * std::sqrt(expected);
}

// Packets of a flow that were overtaken between two taps.
struct OvertakenBetween {
  double packets = 0;
  std::map<int64_t, double> by_window;
};

// Packets arrive at the second tap later than at the first one. The sum of the differences up to a
// window is therefore never above the number of overtaken packets, and its maximum so far is a
// lower limit of that number.
OvertakenBetween Compare(std::span<const TapWindow> first, std::span<const TapWindow> last,
                         const Stretch& stretch) {
  std::map<int64_t, double> differences;
  double late = 0;
  double at_first = 0;
  for (const TapWindow& window : first) {
    if (window.window < stretch.first || window.window >= stretch.behind) continue;
    differences[window.window] -= RepeatedOrLate(window) + UnseenOf(window);
    late -= static_cast<double>(window.late);
    at_first += RepeatedOrLate(window);
  }
  for (const TapWindow& window : last) {
    if (window.window < stretch.first || window.window >= stretch.behind) continue;
    differences[window.window] += RepeatedOrLate(window);
    late += static_cast<double>(window.late);
  }
  OvertakenBetween overtaken;
  double sum = 0;
  for (const auto& [window, difference] : differences) {
    sum += difference;
    if (sum <= overtaken.packets) continue;
    overtaken.by_window[window] = sum - overtaken.packets;
    overtaken.packets = sum;
  }
  const bool is_reordered = overtaken.packets >= std::max(kLeastOvertaken, kLeastShare * late) &&
                            overtaken.packets * kLeastShare <= late &&
                            // If the mirror itself reorders copies, the sender has no reason to
                            // retransmit.
                            at_first >= kLeastShare * late;
  return is_reordered ? overtaken : OvertakenBetween();
}

// The windows in which the flow took only this path. The counts of a tap are not divided by path.
Stretch StretchOf(const DiagnosisInput& input, const FlowPath& path, const PathInterval& interval) {
  const auto number_of = [&](Timestamp time) { return input.parts().metrics.WindowOf(time); };
  const int64_t begin = number_of(input.BeginOf(0));
  const int64_t end = begin + static_cast<int64_t>(input.windows());
  Stretch stretch = {.first = begin, .behind = end};
  if (&interval != &path.intervals.front()) {
    stretch.first = std::max(begin, number_of(interval.from) + 1);
  }
  if (&interval != &path.intervals.back()) {
    stretch.behind = std::min(end, number_of(interval.until));
  }
  return stretch;
}

// Adds the overtaken packets of a flow to the result.
void AddFlow(const DiagnosisInput& input, const FlowPath& path, const std::vector<TapWindows>& taps,
             std::vector<double>& by_window, Reordering& result) {
  for (const PathInterval& interval : path.intervals) {
    // Packets that take several paths at the same time overtake each other.
    if (interval.state == PathState::kSpread) continue;
    const Stretch stretch = StretchOf(input, path, interval);
    const TapWindows* first = nullptr;
    for (const PortIndex port : interval.certain) {
      const NodeIndex node = input.fabric().port(port).node;
      const auto at = std::ranges::find(taps, node, &TapWindows::node);
      if (at == taps.end()) continue;
      const TapWindows* const before = std::exchange(first, &*at);
      if (before == nullptr) continue;
      const OvertakenBetween overtaken = Compare(before->windows, at->windows, stretch);
      if (overtaken.packets == 0) continue;
      Overtaken& of = result.flows[path.flow];
      of = {.after = before->node, .before = node, .packets = of.packets + overtaken.packets};
      result.packets += overtaken.packets;
      for (const auto& [window, packets] : overtaken.by_window) {
        by_window[input.PlaceOf(window)] += packets;
      }
      break;
    }
  }
}

// Sets the windows of the result. Returns false if there are too few packets or windows.
bool SetWindows(const DiagnosisInput& input, const std::vector<double>& by_window,
                Reordering& result) {
  double sum = 0;
  size_t windows = 0;
  bool suffices = false;
  for (size_t w = 0; w < by_window.size(); ++w) {
    if (by_window[w] == 0) continue;
    if (windows == 0) result.first = w;
    result.last = w;
    ++windows;
    sum += by_window[w];
    if (suffices || windows < kLeastReorderedWindows) continue;
    suffices = sum >= input.thresholds().reordered_packets;
    if (suffices) result.detected_at = w;
  }
  return suffices;
}

// Late and retransmitted packets of all flows, and of those that are reordered.
struct NicPackets {
  double all = 0;
  double reordered = 0;
};

void SetEnds(const std::map<NicIndex, NicPackets>& packets, std::set<NicIndex>& ends) {
  for (const auto& [nic, of] : packets) {
    if (2 * of.reordered > of.all) ends.insert(nic);
  }
}

// The most late and retransmitted packets that a tap saw of a flow.
double MostOf(const std::vector<TapWindows>& taps) {
  double most = 0;
  for (const TapWindows& tap : taps) {
    double sum = 0;
    for (const TapWindow& window : tap.windows) sum += RepeatedOrLate(window);
    most = std::max(most, sum);
  }
  return most;
}

// Bytes of each flow, by the index of its path, through each link on which its packets may have
// been overtaken.
std::vector<Exposed> LinksBetween(const DiagnosisInput& input, const Reordering& reordering) {
  const Timestamp from = input.BeginOf(reordering.first);
  const Timestamp until = input.EndOf(reordering.last);
  std::map<PortIndex, Passed> passed;
  uint32_t number = 0;
  for (const FlowPath& path : input.parts().paths) {
    const auto of = reordering.flows.find(path.flow);
    const bool is_reordered = of != reordering.flows.end();
    for (const PathInterval& interval : path.intervals) {
      const auto bytes = static_cast<double>(BytesWithin(interval, from, until));
      if (bytes <= 0) continue;
      bool is_between = !is_reordered;
      for (const PortIndex port : interval.certain) {
        const NodeIndex node = input.fabric().port(port).node;
        if (is_reordered && node == of->second.after) is_between = true;
        if (is_reordered && node == of->second.before) is_between = false;
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

Reordering FindReordering(const DiagnosisInput& input) {
  Reordering result;
  if (input.windows() == 0 || input.is_spraying()) return result;
  std::vector<double> by_window(input.windows());
  std::array<std::map<NicIndex, NicPackets>, 2> packets;  // 0: senders; 1: receivers
  for (const FlowPath& path : input.parts().paths) {
    const std::vector<TapWindows> taps = input.parts().losses.TapsOf(path.flow);
    if (taps.empty()) continue;
    AddFlow(input, path, taps, by_window, result);
    const double most = MostOf(taps);
    const bool is_reordered = result.flows.contains(path.flow);
    for (const auto& [end, nic] : {std::pair(0, path.source), {1, path.destination}}) {
      if (nic == kNone) continue;
      NicPackets& of = packets[static_cast<size_t>(end)][nic];
      of.all += most;
      if (is_reordered) of.reordered += most;
    }
  }
  if (!SetWindows(input, by_window, result)) return {};
  SetEnds(packets[0], result.senders);
  SetEnds(packets[1], result.receivers);
  return result;
}

void DetectReordering(const DiagnosisInput& input, Findings& found) {
  const Reordering& reordering = input.reordering();
  if (reordering.flows.empty()) return;
  AffectedPackets votes;
  uint32_t number = 0;
  for (const FlowPath& path : input.parts().paths) {
    const auto of = reordering.flows.find(path.flow);
    if (of != reordering.flows.end()) votes[number] = of->second.packets;
    ++number;
  }
  for (auto& [flow, packets] : votes) {
    packets *= std::min(1.0, kMostReorderedVotes / reordering.packets);
  }
  const std::vector<Suspect> ranked = RankSuspects(LinksBetween(input, reordering), votes);
  const double least = input.thresholds().least_vote_confidence;
  if (ranked.empty() || ranked[0].probability < least) return;
  Finding finding = {.basis = Basis::kVotes,
                     .from = input.BeginOf(reordering.first),
                     .until = input.Until(reordering.last),
                     .detected_at = input.EndOf(reordering.detected_at)};
  SetSuspects(ranked, finding);
  const double certain = input.thresholds().vote_confidence;
  finding.confidence *= certain;
  for (Suspect& rival : finding.alternatives) rival.probability *= certain;
  finding.evidence.push_back(fmt::format(
      "later packets overtook {} of {} between two mirrored switches; none of them was lost, but "
      "their senders retransmitted packets",
      Counted(static_cast<uint64_t>(std::llround(reordering.packets)), "packet"),
      Counted(reordering.flows.size(), "flow")));
  found.push_back(std::move(finding));
}

TimeToDetection TimeToDetectReordering(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {.windows = kLeastReorderedWindows,
          .signs = fmt::format("{} reordered packets", thresholds.reordered_packets)};
}

}  // namespace rocescope
