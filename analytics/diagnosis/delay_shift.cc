// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/delay_shift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/count_text.h"
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
      wait.queued[w] += own.queued[w];
      wait.paused[w] += own.paused[w];
      wait.is_known[w] = wait.is_known[w] && own.is_known[w];
      wait.may_queue[w] = wait.may_queue[w] || own.may_queue[w];
      wait.is_congested[w] = wait.is_congested[w] || own.is_congested[w];
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
    constexpr double kBusy = 0.5;  // mean share of the line rate
    const Row sent = input_.Growth(input_.EntityOf(port), Metric::kTxBytes);
    const double line = input_.BytesPerWindow(port);
    for (size_t w = 0; w < input_.windows(); ++w) {
      wait.is_known[w] = IsRead(port, w);
      wait.may_queue[w] = !wait.is_known[w] && static_cast<double>(sent[w]) > kBusy * line;
      wait.is_congested[w] =
          static_cast<double>(sent[w]) > input_.thresholds().congested_link_ratio * line;
    }
  }
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Entity entity = input_.EntityOf(port, priority);
    const Row bytes = input_.Readings(entity, Metric::kQueueWatermark);
    if (input_.HasMetric(entity, Metric::kQueueWatermark) &&
        !input_.IsReadAtWindowEnds(entity, Metric::kQueueWatermark)) {
      wait.is_read_at_window_ends = false;
    }
    const Row held = PausedTime(entity, Metric::kPfcRxTime, Metric::kPfcRx, bits_per_second);
    const Row holds = PausedTime(input_.EntityOf(peer, priority), Metric::kPfcTxTime,
                                 Metric::kPfcTx, bits_per_second);
    for (size_t w = 0; w < input_.windows(); ++w) {
      wait.queued[w] +=
          static_cast<uint64_t>(static_cast<double>(bytes[w]) * 8e9 / bits_per_second);
      wait.paused[w] += std::max(held[w], holds[w]);
    }
  }
  return wait;
}

// Without a counter of the time, the longest time for which the counted frames can have paused.
Row Waits::PausedTime(const Entity& entity, Metric time, Metric count,
                      double bits_per_second) const {
  if (input_.HasMetric(entity, time)) return input_.Growth(entity, time);
  constexpr double kLongestPauseBits = 65535.0 * 512;  // quanta of 512 bits (IEEE 802.1Qbb)
  Row row = input_.Growth(entity, count);
  for (uint64_t& value : row) {
    value = static_cast<uint64_t>(static_cast<double>(value) * kLongestPauseBits * 1e9 /
                                  bits_per_second);
  }
  return row;
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

constexpr size_t kNear = 2;  // windows

// A window with a longer delay.
struct LateWindow {
  size_t place = 0;
  uint32_t packets = 0;
  int64_t by = 0;  // ns; increase of the least delay
  bool is_queue_known = false;
};

int64_t TypicalOf(const std::vector<LateWindow>& late) {
  std::vector<int64_t> by;
  for (const LateWindow& window : late) by.push_back(window.by);
  return UpperMedianOf(by);
}

// A longer link delays all packets equally. Windows with less than half of the typical increase
// have another cause, such as a queue.
void KeepSimilar(std::vector<LateWindow>& late) {
  if (late.empty()) return;
  const int64_t typical = TypicalOf(late);
  std::erase_if(late, [&](const LateWindow& window) { return 2 * window.by < typical; });
}

bool AreSeparated(const std::vector<size_t>& usual, size_t before, size_t after) {
  const auto next = std::ranges::upper_bound(usual, before);
  return next != usual.end() && *next < after;
}

// Keeps the series of `late` windows with the highest score: +1 for each late window, and -10 for
// each `usual` window (ascending) in between. Returns the number of windows in short series; long
// ones are other episodes of the fault.
size_t KeepLongest(const std::vector<size_t>& usual, std::vector<LateWindow>& late) {
  constexpr int64_t kWeight = 10;
  constexpr size_t kLong = 6;  // and more than half as long as the one that is kept
  size_t begin = 0;
  int64_t sum = 0;
  size_t best_begin = 0;
  size_t best_end = 0;
  int64_t best = 0;
  for (size_t i = 0; i < late.size(); ++i) {
    if (i > 0) {
      const auto after = std::ranges::upper_bound(usual, late[i - 1].place);
      sum -= kWeight * (std::ranges::lower_bound(after, usual.end(), late[i].place) - after);
    }
    if (sum < 0) {
      begin = i;
      sum = 0;
    }
    if (++sum <= best) continue;
    best = sum;
    best_begin = begin;
    best_end = i + 1;
  }
  size_t isolated = 0;
  size_t run = 0;
  for (size_t i = 0; i < late.size(); ++i) {
    const bool is_kept = i >= best_begin && i < best_end;
    run += is_kept ? 0 : 1;
    const bool ends = i + 1 == late.size() || is_kept || i + 1 == best_begin ||
                      AreSeparated(usual, late[i].place, late[i + 1].place);
    if (!ends) continue;
    if (run < kLong || 2 * run <= best_end - best_begin) isolated += run;
    run = 0;
  }
  late = {late.begin() + static_cast<ptrdiff_t>(best_begin),
          late.begin() + static_cast<ptrdiff_t>(best_end)};
  return isolated;
}

// The number of other windows (ascending) with at least half of the typical increase of the late
// ones. Those that are near the late ones, or near such a window, belong to them.
size_t CountSimilarElsewhere(const std::vector<LateWindow>& others,
                             const std::vector<LateWindow>& late) {
  if (late.empty()) return 0;
  const int64_t typical = TypicalOf(late);
  std::vector<size_t> similar;
  for (const LateWindow& other : others) {
    if (2 * other.by >= typical) similar.push_back(other.place);
  }
  size_t first = late.front().place;
  size_t last = late.back().place;
  size_t near = 0;
  for (const size_t place : similar) {
    if (place < first || place > last + kNear) continue;
    last = std::max(last, place);
    ++near;
  }
  for (size_t i = similar.size(); i-- > 0;) {
    if (similar[i] >= late.front().place || similar[i] + kNear < first) continue;
    first = similar[i];
    ++near;
  }
  return similar.size() - near;
}

// Whether at least `enough` windows have a similar increase, within a factor of 2 of the median. A
// longer link delays all packets equally, and a queue does not.
bool AreSimilar(const std::vector<LateWindow>& late, size_t enough) {
  const int64_t typical = TypicalOf(late);
  return std::ranges::count_if(late, [&](const LateWindow& window) {
           return 2 * window.by >= typical && window.by <= 2 * typical;
         }) >= static_cast<ptrdiff_t>(enough);
}

Shift ShiftOver(const std::vector<LateWindow>& late, size_t enough, const Thresholds& thresholds) {
  Shift shift;
  if (late.empty()) return shift;
  shift.first = late.front().place;
  shift.last = late.back().place;
  for (const LateWindow& window : late) {
    const bool sufficed = shift.windows >= enough && shift.packets >= thresholds.latency_packets;
    ++shift.windows;
    shift.packets += window.packets;
    if (!sufficed) shift.detected_at = window.place;
  }
  shift.by = static_cast<double>(TypicalOf(late));
  return shift;
}

// Whether most other windows have at least half of the increase, too, although queues may explain
// it there. Then the least delays of a few windows are wrong: a packet was matched with another
// packet's response. A lasting fault has more windows of its own.
bool IsUsual(const std::vector<DelayWindow>& windows, int64_t quickest, int64_t increase,
             size_t shifted) {
  constexpr double kMost = 2.0 / 3;
  const auto all = static_cast<size_t>(std::ranges::count_if(
      windows, [&](const auto& window) { return 2 * (window.least - quickest) >= increase; }));
  const size_t increased = all - std::min(all, shifted);
  const size_t others = windows.size() - shifted;
  return increased > 2 * shifted &&
         static_cast<double>(increased) > kMost * static_cast<double>(others);
}

// A series of delayed windows among those of a path or NIC.
struct Series {
  size_t late = 0;
  size_t length = 0;       // from the first to the last of them
  size_t others = 0;       // windows outside
  size_t late_others = 0;  // of these
};

// Whether chance explains the series, given the share of delayed windows among the others, in any
// of so many delays. Busy hosts occasionally respond late.
bool IsExplainedByChance(const Series& series, size_t delays) {
  constexpr double kMaxExpected = 0.1;  // such series in all windows of all delays
  if (series.late_others == 0) return false;
  // Where most of the others are late, the usual delay is not known, unless the series is much
  // longer.
  constexpr size_t kMuchLonger = 4;
  if (series.late_others * 2 >= series.others) {
    return series.late <= kMuchLonger * series.late_others;
  }
  const double share =
      (static_cast<double>(series.late_others) + 0.5) / (static_cast<double>(series.others) + 1);
  double expected = static_cast<double>(delays) *
                    static_cast<double>(series.length + series.others) *
                    std::pow(share, static_cast<double>(series.late));
  // The number of combinations of the windows between the first and the last one.
  for (size_t i = 2; i < series.late; ++i) {
    expected *= static_cast<double>(series.length - i) / static_cast<double>(i - 1);
  }
  return expected > kMaxExpected;
}

int64_t LowerMedianOf(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Increases of delays, by window and group.
using Increases = std::vector<std::map<uint32_t, std::vector<int64_t>>>;

// The increase that more than half of the groups have in a window; 0 if there are too few groups.
int64_t SharedOf(const Increases& increases, size_t window, size_t least_groups) {
  const auto& groups = increases[window];
  if (groups.size() < least_groups) return 0;
  std::vector<int64_t> medians;
  for (const auto& [group, values] : groups) medians.push_back(LowerMedianOf(values));
  return std::max<int64_t>(LowerMedianOf(medians), 0);
}

}  // namespace

size_t CountDelays(const DiagnosisInput& input, DelayKind kind) {
  return static_cast<size_t>(std::ranges::count_if(
      input.parts().delays, [&](const auto& entry) { return entry.first.kind == kind; }));
}

Row SharedDelays(const DiagnosisInput& input, DelayKind kind, Of of) {
  constexpr size_t kMaxSampled = 256;
  const topology::Fabric& fabric = input.fabric();
  const bool is_turnaround = kind == DelayKind::kTurnaround;
  const size_t least_groups = is_turnaround ? 4 : 3;
  const size_t agreeing = input.thresholds().latency_baseline_windows;
  Row shared(input.windows());
  Increases by_first(input.windows());
  Increases by_last(input.windows());
  const auto value_of = [&](const DelayWindow& window) {
    return of == Of::kLeast ? window.least : window.next_most;
  };
  const size_t step = (CountDelays(input, kind) + kMaxSampled - 1) / kMaxSampled;
  size_t number = 0;
  for (const auto& [key, windows] : input.parts().delays) {
    if (key.kind != kind || number++ % step != 0 || windows.size() < agreeing) continue;
    const uint32_t first = is_turnaround ? fabric.nic(key.to).host : key.from;
    const uint32_t last = is_turnaround || key.to_node ? key.to : fabric.port(key.to).node;
    std::vector<int64_t> values;
    for (const DelayWindow& window : windows) values.push_back(value_of(window));
    const auto usual = values.begin() +
                       static_cast<ptrdiff_t>(of == Of::kLeast ? agreeing - 1 : values.size() / 2);
    std::ranges::nth_element(values, usual);
    for (const DelayWindow& window : windows) {
      const size_t place = input.PlaceOf(window.window);
      if (place >= shared.size()) continue;
      by_first[place][first].push_back(value_of(window) - *usual);
      if (!is_turnaround) by_last[place][last].push_back(value_of(window) - *usual);
    }
  }
  for (size_t w = 0; w < shared.size(); ++w) {
    int64_t least = SharedOf(by_first, w, least_groups);
    if (!is_turnaround) least = std::min(least, SharedOf(by_last, w, least_groups));
    shared[w] = static_cast<uint64_t>(least);
  }
  return shared;
}

std::optional<Shift> ShiftOf(const DiagnosisInput& input, const std::vector<DelayWindow>& windows,
                             const Wait& wait, Of of, int64_t margin) {
  const Thresholds& thresholds = input.thresholds();
  const std::optional<int64_t> quickest =
      QuickestOf(windows, thresholds.latency_baseline_windows, margin);
  if (!quickest) return std::nullopt;
  // Fewer windows than this must be close to each other.
  constexpr size_t kSeveral = 4;
  std::vector<LateWindow> late;
  std::vector<size_t> usual;
  std::vector<LateWindow> explained;  // longer least delays that queues explain
  std::vector<size_t> evaluated;
  size_t isolated = 0;  // late windows that are far from the others
  for (const DelayWindow& window : windows) {
    const size_t place = input.PlaceOf(window.window);
    if (place >= input.windows()) continue;
    // The queue when the packets arrived, possibly in the window before, or read later: a device
    // refreshes its counters about as often as they are read, and answers from its cache.
    constexpr size_t kLater = 3;  // windows
    const size_t before = place > 0 ? place - 1 : place;
    const size_t after = wait.is_read_at_window_ends ? place : place + kLater;
    bool is_known = after < input.windows();
    bool may_queue = false;
    bool is_congested = false;
    uint64_t longest = 0;
    uint64_t paused = 0;  // readings divide the time between windows
    for (size_t w = before; w <= std::min(after, input.windows() - 1); ++w) {
      is_known = is_known && wait.is_known[w];
      may_queue = may_queue || wait.may_queue[w];
      is_congested = is_congested || wait.is_congested[w];
      longest = std::max(longest, wait.queued[w] + wait.paused[w]);
      paused += wait.paused[w];
    }
    if (of == Of::kMost && !is_known) continue;
    if (may_queue || after >= input.windows())
      continue;  // the readings that explain it may be yet to come
    const auto queued = static_cast<int64_t>(longest + (wait.is_read_at_window_ends ? 0 : paused));
    const auto shared = static_cast<int64_t>(wait.shared[place]);
    const int64_t later = window.least - *quickest;
    const int64_t least = later - std::clamp<int64_t>(later, 0, shared);
    const int64_t unexplained = window.next_most - *quickest - queued - shared;
    // A retransmitted packet was matched with its first copy.
    if (least < -margin) continue;
    evaluated.push_back(place);
    // A longer path delays all packets, queued or not. A queue that persists for the whole window
    // delays all packets too, but none for longer than the queue.
    // On a link that was busy all the time, or if the least delay is about as long as the queue,
    // the queue may have persisted.
    const bool may_persist =
        wait.may_repeat && least <= queued && (is_congested || least > queued / 2);
    const bool is_shifted = of == Of::kLeast ? least > margin && !may_persist &&
                                                   unexplained > std::max(margin, least / 2)
                                             : unexplained > margin;
    if (!is_shifted) {
      // A queue can explain the whole delay, so that the path's own delay is unknown.
      if (queued == 0 || (of == Of::kLeast ? least : unexplained + queued) <= margin) {
        usual.push_back(place);
      } else {
        explained.push_back({.place = place, .by = least});
      }
      continue;
    }
    // Windows that are far from each other are independent accidents.
    if (of == Of::kMost && !late.empty() && late.size() < kSeveral &&
        place > late.back().place + kNear) {
      isolated += late.size();
      late.clear();
    }
    late.push_back(
        {.place = place, .packets = window.count, .by = least, .is_queue_known = is_known});
  }
  if (of == Of::kLeast) {
    isolated += KeepLongest(usual, late);
    KeepSimilar(late);
    isolated += CountSimilarElsewhere(explained, late);
  }
  const size_t enough = LeastLateWindows(of, thresholds);
  Shift shift = ShiftOver(late, enough, thresholds);
  if (shift.windows < enough || shift.packets < thresholds.latency_packets) return std::nullopt;
  shift.usual_least = *quickest;
  // A delay that the data begin with is not longer than before. It may be that of a queue.
  const bool has_before = std::ranges::any_of(usual, [&](size_t at) { return at < shift.first; });
  if (!has_before) return std::nullopt;
  const auto between = static_cast<size_t>(std::ranges::count_if(
      usual, [&](size_t place) { return place > shift.first && place < shift.last; }));
  const auto all = static_cast<size_t>(std::ranges::count_if(windows, [&](const auto& window) {
    const size_t place = input.PlaceOf(window.window);
    return place >= shift.first && place <= shift.last;
  }));
  if (of == Of::kLeast ? between * 10 > shift.windows : shift.windows * 2 < all) {
    return std::nullopt;
  }
  const auto within = static_cast<size_t>(std::ranges::count_if(
      evaluated, [&](size_t place) { return place >= shift.first && place <= shift.last; }));
  if (IsExplainedByChance({.late = shift.windows,
                           .length = within,
                           .others = evaluated.size() - within,
                           .late_others = isolated},
                          wait.delays)) {
    return std::nullopt;
  }
  if (of == Of::kLeast) {
    if (IsUsual(windows, *quickest, static_cast<int64_t>(shift.by), shift.windows)) {
      return std::nullopt;
    }
    const bool are_queues_known = std::ranges::all_of(late, &LateWindow::is_queue_known);
    if (!are_queues_known && !AreSimilar(late, thresholds.latency_windows)) return std::nullopt;
  }
  return shift;
}

uint32_t LeastLateWindows(Of of, const Thresholds& thresholds) {
  return thresholds.latency_windows + (of == Of::kMost ? 1 : 0);
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

TimeToDetection TimeOfShift(Of of, const Thresholds& thresholds) {
  return {.windows = LeastLateWindows(of, thresholds),
          .signs = fmt::format("{} with a longer delay, and {} with the normal one",
                               Counted(thresholds.latency_packets, "packet"),
                               Counted(thresholds.latency_baseline_windows, "window"))};
}

}  // namespace rocescope
