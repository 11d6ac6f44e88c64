// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/find_hotspots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace rocescope {
namespace {

using topology::PortIndex;

constexpr std::array<Metric, 3> kSigns = {Metric::kEcnMarked, Metric::kQueueDrops,
                                          Metric::kPfcRxTime};

const MetricSeries* SeriesOf(const MetricStore::OfEntity& entity, Metric metric) {
  const auto at = std::ranges::find(entity.series, metric, &std::pair<Metric, MetricSeries>::first);
  return at == entity.series.end() ? nullptr : &at->second;
}

// Ascending, unique.
std::vector<int64_t> WindowsWithASign(const MetricStore::OfEntity& entity) {
  std::vector<int64_t> windows;
  for (const Metric sign : kSigns) {
    const MetricSeries* series = SeriesOf(entity, sign);
    if (series == nullptr) continue;
    for (const WindowValue& one : series->windows()) windows.push_back(one.window);
  }
  std::ranges::sort(windows);
  const auto rest = std::ranges::unique(windows);
  windows.erase(rest.begin(), rest.end());
  return windows;
}

uint64_t SumOf(const MetricStore::OfEntity& entity, Metric metric, int64_t from, int64_t until) {
  const MetricSeries* series = SeriesOf(entity, metric);
  return series == nullptr ? 0 : series->Sum(from, until);
}

// The depth is instantaneous. A watermark belongs to the window at whose end it is read.
uint64_t PeakOf(const MetricStore::OfEntity& entity, int64_t from, int64_t until) {
  const MetricSeries* watermark = SeriesOf(entity, Metric::kQueueWatermark);
  if (watermark != nullptr) return watermark->Highest(from, until);
  const MetricSeries* depth = SeriesOf(entity, Metric::kQueueBytes);
  return depth == nullptr ? 0 : depth->Highest(from, until);
}

// Calls visit(first, end) for each range of windows without a gap of `calm` or more; both are
// window numbers. `windows` is ascending.
template <typename Visit>
void ForEachStretch(std::span<const int64_t> windows, int64_t calm, Visit visit) {
  for (size_t first = 0; first < windows.size();) {
    size_t last = first;
    while (last + 1 < windows.size() && windows[last + 1] - windows[last] <= calm) ++last;
    visit(windows[first], windows[last] + 1);
    first = last + 1;
  }
}

// Counter values are arbitrary, so they are limited to a century.
Duration TimeOf(uint64_t ns) {
  constexpr uint64_t kCentury = 100ull * 365 * 86'400 * 1'000'000'000;
  return Duration(static_cast<int64_t>(std::min(ns, kCentury)));
}

bool CountsMarks(const MetricStore::OfEntity& entity) {
  return SeriesOf(entity, Metric::kEcnMarked) != nullptr;
}

// Evidence from packets about a port's queues in one window.
struct Told {
  uint64_t peak_bytes = 0;
  std::set<uint8_t> queues;  // queues that INT reported as congested
  double marks = 0;
  bool seen = false;  // marks observed directly before and after the queue
};

using ToldOf = std::map<PortIndex, std::map<int64_t, Told>>;

ToldOf WhatPacketsTell(const Queues& queues, std::span<const MarkedQueue> marked) {
  ToldOf told;
  for (const auto& [key, windows] : queues) {
    for (const QueueWindow& window : windows) {
      if (window.congested == 0) continue;
      Told& at = told[key.port][window.window];
      at.peak_bytes = std::max(at.peak_bytes, window.peak_bytes);
      at.queues.insert(key.queue);
    }
  }
  for (const MarkedQueue& queue : marked) {
    Told& at = told[queue.port][queue.window];
    at.marks += queue.marks;
    at.seen |= !queue.inferred;
  }
  return told;
}

Hotspot JoinTold(const std::map<int64_t, Told>& told, int64_t from, int64_t until) {
  Hotspot hotspot;
  std::set<uint8_t> queues;
  double marks = 0;
  bool seen = false;
  for (auto at = told.lower_bound(from); at != told.end() && at->first < until; ++at) {
    hotspot.peak_bytes = std::max(hotspot.peak_bytes, at->second.peak_bytes);
    queues.insert(at->second.queues.begin(), at->second.queues.end());
    marks += at->second.marks;
    seen |= at->second.seen;
  }
  hotspot.marked = static_cast<uint64_t>(std::llround(marks));
  hotspot.source = !queues.empty() ? HotspotSource::kInt
                   : seen          ? HotspotSource::kMarks
                                   : HotspotSource::kInferred;
  if (queues.size() == 1) hotspot.priority = *queues.begin();
  return hotspot;
}

}  // namespace

std::vector<Hotspot> HotspotsOf(const MetricStore& metrics, const Queues& queues,
                                std::span<const MarkedQueue> marked,
                                const HotspotOptions& options) {
  std::vector<Hotspot> hotspots;
  std::set<PortIndex> counted;
  for (const auto& [entity, of_entity] : metrics.entities()) {
    if (entity.kind != EntityKind::kPort) continue;
    if (CountsMarks(of_entity)) counted.insert(entity.index);
    ForEachStretch(WindowsWithASign(of_entity), options.calm, [&](int64_t from, int64_t until) {
      hotspots.push_back({.port = entity.index,
                          .priority = entity.priority,
                          .from = metrics.StartOf(from),
                          .until = metrics.StartOf(until),
                          .peak_bytes = PeakOf(of_entity, from, until),
                          .marked = SumOf(of_entity, Metric::kEcnMarked, from, until),
                          .dropped = SumOf(of_entity, Metric::kQueueDrops, from, until),
                          .paused = TimeOf(SumOf(of_entity, Metric::kPfcRxTime, from, until))});
    });
  }
  for (const auto& [port, told] : WhatPacketsTell(queues, marked)) {
    if (counted.contains(port)) continue;
    std::vector<int64_t> windows;
    for (const auto& [window, what] : told) windows.push_back(window);
    ForEachStretch(windows, options.calm, [&](int64_t from, int64_t until) {
      Hotspot hotspot = JoinTold(told, from, until);
      hotspot.port = port;
      hotspot.from = metrics.StartOf(from);
      hotspot.until = metrics.StartOf(until);
      hotspots.push_back(hotspot);
    });
  }
  std::ranges::sort(hotspots, {}, [](const Hotspot& one) {
    return std::tuple(one.port, one.priority, one.from);
  });
  return hotspots;
}

}  // namespace rocescope
