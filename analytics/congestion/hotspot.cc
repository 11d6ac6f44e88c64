// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/hotspot.h"

#include <algorithm>
#include <array>

namespace rocescope {
namespace {

constexpr std::array<Metric, 3> kSigns = {Metric::kEcnMarked, Metric::kQueueDrops,
                                          Metric::kPfcRxTime};

const MetricSeries* SeriesOf(const MetricStore::OfEntity& entity, Metric metric) {
  const auto at = std::ranges::find(entity.series, metric, &std::pair<Metric, MetricSeries>::first);
  return at == entity.series.end() ? nullptr : &at->second;
}

// Ascending, each once.
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

// A watermark is read after the window that it is of, and set back then; the depth is of one
// moment.
uint64_t PeakOf(const MetricStore::OfEntity& entity, int64_t from, int64_t until) {
  const MetricSeries* watermark = SeriesOf(entity, Metric::kQueueWatermark);
  if (watermark != nullptr) return watermark->Highest(from, until + 1);
  const MetricSeries* depth = SeriesOf(entity, Metric::kQueueBytes);
  return depth == nullptr ? 0 : depth->Highest(from, until);
}

}  // namespace

std::vector<Hotspot> HotspotsOf(const MetricStore& metrics, const HotspotOptions& options) {
  std::vector<Hotspot> hotspots;
  for (const auto& [entity, of_entity] : metrics.entities()) {
    if (entity.kind != EntityKind::kPort) continue;
    const std::vector<int64_t> windows = WindowsWithASign(of_entity);
    for (size_t first = 0; first < windows.size();) {
      size_t last = first;
      while (last + 1 < windows.size() && windows[last + 1] - windows[last] <= options.calm) ++last;
      const int64_t from = windows[first];
      const int64_t until = windows[last] + 1;
      hotspots.push_back({.port = entity.index,
                          .priority = entity.priority,
                          .from = metrics.StartOf(from),
                          .until = metrics.StartOf(until),
                          .peak_bytes = PeakOf(of_entity, from, until),
                          .marked = SumOf(of_entity, Metric::kEcnMarked, from, until),
                          .dropped = SumOf(of_entity, Metric::kQueueDrops, from, until),
                          .paused = Duration(SumOf(of_entity, Metric::kPfcRxTime, from, until))});
      first = last + 1;
    }
  }
  return hotspots;
}

}  // namespace rocescope
