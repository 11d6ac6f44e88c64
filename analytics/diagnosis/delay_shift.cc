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
  Wait wait(scene_.windows());
  for (const PortIndex port : ports) {
    const Wait& own = At(port);
    for (size_t w = 0; w < scene_.windows(); ++w) {
      wait.longest[w] += own.longest[w];
      wait.is_known[w] = wait.is_known[w] && own.is_known[w];
    }
  }
  return wait;
}

bool Waits::IsRead(PortIndex port, size_t window) const {
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Entity entity = scene_.EntityOf(port, priority);
    if (scene_.HasReading(entity, Metric::kQueueWatermark, window)) return true;
  }
  return false;
}

Wait Waits::WorkOut(PortIndex port) const {
  Wait wait(scene_.windows());
  const auto bits_per_second = static_cast<double>(scene_.fabric().SpeedOf(port));
  if (bits_per_second == 0) return wait;
  const PortIndex peer = scene_.fabric().Peer(port);
  // Of a host's queues nobody tells; packets are followed from where they have left them.
  if (scene_.fabric().node(scene_.fabric().port(port).node).IsSwitch()) {
    for (size_t w = 0; w < scene_.windows(); ++w) wait.is_known[w] = IsRead(port, w);
  }
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Entity entity = scene_.EntityOf(port, priority);
    const Row bytes = scene_.Readings(entity, Metric::kQueueWatermark);
    const Row held = scene_.Growth(entity, Metric::kPfcRxTime);
    const Row holds = scene_.Growth(scene_.EntityOf(peer, priority), Metric::kPfcTxTime);
    for (size_t w = 0; w < scene_.windows(); ++w) {
      wait.longest[w] +=
          static_cast<uint64_t>(static_cast<double>(bytes[w]) * 8e9 / bits_per_second) +
          std::max(held[w], holds[w]);
    }
  }
  return wait;
}

namespace {

// The least delay that several windows agree on. A packet that was sent again may seem to come
// before it went, by anything.
std::optional<int64_t> QuickestOf(const std::vector<DelayWindow>& windows, int64_t margin) {
  constexpr size_t kAgreeing = 3;
  std::vector<int64_t> least;
  for (const DelayWindow& window : windows) least.push_back(window.least);
  std::ranges::sort(least);
  for (size_t last = kAgreeing - 1; last < least.size(); ++last) {
    if (least[last] - least[last + 1 - kAgreeing] <= margin) return least[last];
  }
  return std::nullopt;
}

}  // namespace

std::optional<Shift> ShiftOf(const Scene& scene, const std::vector<DelayWindow>& windows,
                             const Wait& wait, Of of, int64_t margin) {
  const std::optional<int64_t> quickest = QuickestOf(windows, margin);
  if (!quickest) return std::nullopt;
  // Fewer windows than that have to be close to each other.
  constexpr size_t kSeveral = 4;
  constexpr size_t kEnough = 2;
  constexpr uint32_t kPackets = 5;
  Shift shift;
  std::vector<int64_t> by;
  std::vector<size_t> usual;
  for (const DelayWindow& window : windows) {
    const size_t place = scene.PlaceOf(window.window);
    if (place >= scene.windows()) continue;
    // Of the queue as it was when they came to it, which may have been in the window before.
    const size_t before = place > 0 ? place - 1 : place;
    if (of == Of::kMost && !(wait.is_known[place] && wait.is_known[before])) continue;
    const auto queued = static_cast<int64_t>(std::max(wait.longest[place], wait.longest[before]));
    const int64_t least = window.least - *quickest;
    const int64_t unexplained = window.next_most - *quickest - queued;
    // One that was sent again.
    if (least < -margin) continue;
    // A longer way is longer for all, with the queue or without; one that stands for a window
    // delays even the least, but nobody for longer than that.
    const bool is_shifted = of == Of::kLeast
                                ? least > margin && unexplained > std::max(margin, least / 2)
                                : unexplained > margin;
    if (!is_shifted) {
      // Queued for as long as that: it says nothing of the rest.
      if (queued == 0 || (of == Of::kLeast ? least : unexplained + queued) <= margin) {
        usual.push_back(place);
      }
      continue;
    }
    // Far from each other they are two accidents.
    constexpr size_t kNear = 2;
    if (of == Of::kMost && shift.windows > 0 && shift.windows < kSeveral &&
        place > shift.last + kNear) {
      shift = {};
      by.clear();
    }
    const bool sufficed = shift.windows >= kEnough && shift.packets >= kPackets;
    if (shift.windows++ == 0) shift.first = place;
    shift.last = place;
    shift.packets += window.count;
    if (!sufficed) shift.verdict = place;
    by.push_back(window.least - *quickest);
  }
  if (shift.windows < kEnough || shift.packets < kPackets) return std::nullopt;
  const auto between = static_cast<size_t>(std::ranges::count_if(
      usual, [&](size_t place) { return place > shift.first && place < shift.last; }));
  const auto all = static_cast<size_t>(std::ranges::count_if(windows, [&](const auto& window) {
    const size_t place = scene.PlaceOf(window.window);
    return place >= shift.first && place <= shift.last;
  }));
  if (of == Of::kLeast ? between * 10 > shift.windows : shift.windows * 2 < all) {
    return std::nullopt;
  }
  shift.by = static_cast<double>(UpperMedianOf(by));
  return shift;
}

Finding FindingOf(const Scene& scene, FindingKind kind, Place place, const Shift& shift) {
  Finding finding = {.kind = kind,
                     .place = place,
                     .confidence = 0.95,
                     .from = scene.BeginOf(shift.first),
                     .verdict = scene.EndOf(shift.verdict)};
  finding.until = scene.Until(shift.last);
  return finding;
}

}  // namespace rocescope
