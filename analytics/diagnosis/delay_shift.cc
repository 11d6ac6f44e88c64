// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/delay_shift.h"

#include <algorithm>

#include "base/median.h"

namespace rocescope {

using topology::PortIndex;

const Wait& Waits::At(PortIndex port) {
  auto at = known_.find(port);
  if (at == known_.end()) at = known_.emplace(port, WorkOut(port)).first;
  return at->second;
}

Wait Waits::Over(const std::vector<PortIndex>& ports) {
  Wait wait(input_.windows());
  for (const PortIndex port : ports) {
    const Wait& own = At(port);
    for (size_t w = 0; w < input_.windows(); ++w) {
      wait.longest[w] += own.longest[w];
      wait.is_known[w] = wait.is_known[w] && own.is_known[w];
    }
    wait.is_read_at_window_ends = wait.is_read_at_window_ends && own.is_read_at_window_ends;
  }
  return wait;
}

bool Waits::IsRead(PortIndex port, size_t window) const {
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Entity entity = input_.EntityOf(port, priority);
    if (input_.HasReading(entity, Metric::kQueueWatermark, window)) return true;
  }
  return false;
}

Wait Waits::WorkOut(PortIndex port) const {
  Wait wait(input_.windows());
  const auto bits_per_second = static_cast<double>(input_.fabric().SpeedOf(port));
  if (bits_per_second == 0) return wait;
  const PortIndex peer = input_.fabric().Peer(port);
  // Queues of hosts are not reported. Packets are observed only after they left them.
  if (input_.fabric().node(input_.fabric().port(port).node).IsSwitch()) {
    for (size_t w = 0; w < input_.windows(); ++w) wait.is_known[w] = IsRead(port, w);
  }
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Entity entity = input_.EntityOf(port, priority);
    const Row bytes = input_.Readings(entity, Metric::kQueueWatermark);
    if (input_.HasMetric(entity, Metric::kQueueWatermark) &&
        !input_.IsReadAtWindowEnds(entity, Metric::kQueueWatermark)) {
      wait.is_read_at_window_ends = false;
    }
    const Row held = input_.Growth(entity, Metric::kPfcRxTime);
    const Row holds = input_.Growth(input_.EntityOf(peer, priority), Metric::kPfcTxTime);
    for (size_t w = 0; w < input_.windows(); ++w) {
      wait.longest[w] +=
          static_cast<uint64_t>(static_cast<double>(bytes[w]) * 8e9 / bits_per_second) +
          std::max(held[w], holds[w]);
    }
  }
  return wait;
}

namespace {

// The least delay that several windows agree on. A single least delay may be wrong by any amount,
// because a retransmitted packet can be matched with its first copy.
std::optional<int64_t> QuickestOf(const std::vector<DelayWindow>& windows, size_t agreeing,
                                  int64_t margin) {
  std::vector<int64_t> least;
  for (const DelayWindow& window : windows) least.push_back(window.least);
  std::ranges::sort(least);
  for (size_t last = agreeing - 1; last < least.size(); ++last) {
    if (least[last] - least[last + 1 - agreeing] <= margin) return least[last];
  }
  return std::nullopt;
}

}  // namespace

std::optional<Shift> ShiftOf(const DiagnosisInput& input, const std::vector<DelayWindow>& windows,
                             const Wait& wait, Of of, int64_t margin) {
  const Thresholds& thresholds = input.thresholds();
  const std::optional<int64_t> quickest =
      QuickestOf(windows, thresholds.latency_baseline_windows, margin);
  if (!quickest) return std::nullopt;
  // Fewer windows than this must be close to each other.
  constexpr size_t kSeveral = 4;
  Shift shift;
  std::vector<int64_t> by;
  std::vector<size_t> usual;
  for (const DelayWindow& window : windows) {
    const size_t place = input.PlaceOf(window.window);
    if (place >= input.windows()) continue;
    // The queue when the packets arrived, possibly in the window before, or read in the one after.
    const size_t before = place > 0 ? place - 1 : place;
    const size_t after =
        wait.is_read_at_window_ends ? place : std::min(place + 1, input.windows() - 1);
    if (of == Of::kMost &&
        !(wait.is_known[place] && wait.is_known[before] && wait.is_known[after])) {
      continue;
    }
    const auto queued = static_cast<int64_t>(
        std::max({wait.longest[place], wait.longest[before], wait.longest[after]}));
    const int64_t least = window.least - *quickest;
    const int64_t unexplained = window.next_most - *quickest - queued;
    // A retransmitted packet was matched with its first copy.
    if (least < -margin) continue;
    // A longer path delays all packets, queued or not. A queue that persists for the whole window
    // delays all packets too, but none for longer than the queue.
    const bool is_shifted = of == Of::kLeast
                                ? least > margin && unexplained > std::max(margin, least / 2)
                                : unexplained > margin;
    if (!is_shifted) {
      // A queue can explain the whole delay, so that the path's own delay is unknown.
      if (queued == 0 || (of == Of::kLeast ? least : unexplained + queued) <= margin) {
        usual.push_back(place);
      }
      continue;
    }
    // Windows that are far from each other are independent accidents.
    constexpr size_t kNear = 2;
    if (of == Of::kMost && shift.windows > 0 && shift.windows < kSeveral &&
        place > shift.last + kNear) {
      shift = {};
      by.clear();
    }
    const bool sufficed =
        shift.windows >= thresholds.latency_windows && shift.packets >= thresholds.latency_packets;
    if (shift.windows++ == 0) shift.first = place;
    shift.last = place;
    shift.packets += window.count;
    if (!sufficed) shift.detected_at = place;
    by.push_back(window.least - *quickest);
  }
  if (shift.windows < thresholds.latency_windows || shift.packets < thresholds.latency_packets)
    return std::nullopt;
  const auto between = static_cast<size_t>(std::ranges::count_if(
      usual, [&](size_t place) { return place > shift.first && place < shift.last; }));
  const auto all = static_cast<size_t>(std::ranges::count_if(windows, [&](const auto& window) {
    const size_t place = input.PlaceOf(window.window);
    return place >= shift.first && place <= shift.last;
  }));
  if (of == Of::kLeast ? between * 10 > shift.windows : shift.windows * 2 < all) {
    return std::nullopt;
  }
  shift.by = static_cast<double>(UpperMedianOf(by));
  return shift;
}

Finding FindingOf(const DiagnosisInput& input, FaultKind kind, Place place, const Shift& shift) {
  Finding finding = {.kind = kind,
                     .place = place,
                     .confidence = 0.95,
                     .from = input.BeginOf(shift.first),
                     .detected_at = input.EndOf(shift.detected_at)};
  finding.until = input.Until(shift.last);
  return finding;
}

}  // namespace rocescope
