// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/link_load.h"

#include <algorithm>

namespace rocescope {
namespace {

using topology::kNone;
using topology::PortIndex;

Entity EntityOf(const topology::Fabric& fabric, PortIndex port) {
  const topology::NicIndex nic = fabric.NicOf(port);
  if (nic != kNone) return {.kind = EntityKind::kNic, .index = nic};
  return {.kind = EntityKind::kPort, .index = port};
}

bool IsRead(const MetricStore& metrics, const MetricSeries& series, int64_t window) {
  return series.first_reading() <= metrics.StartOf(window) &&
         series.last_reading() >= metrics.StartOf(window + 1) && series.IsKnown(window);
}

// Visits the series of the whole entity and of each priority.
template <typename Visit>
void ForEachSeries(const MetricStore& metrics, Entity entity, Metric metric, Visit visit) {
  entity.priority = 0;
  for (auto at = metrics.entities().lower_bound(entity); at != metrics.entities().end(); ++at) {
    if (at->first.kind != entity.kind || at->first.index != entity.index) break;
    for (const auto& [one, series] : at->second.series) {
      if (one == metric) visit(series);
    }
  }
}

uint64_t SumOf(const MetricStore& metrics, const Entity& entity, Metric metric, int64_t window) {
  uint64_t sum = 0;
  ForEachSeries(metrics, entity, metric,
                [&](const MetricSeries& series) { sum += series.Sum(window, window + 1); });
  return sum;
}

uint64_t HighestOf(const MetricStore& metrics, const Entity& entity, Metric metric,
                   int64_t window) {
  uint64_t highest = 0;
  ForEachSeries(metrics, entity, metric, [&](const MetricSeries& series) {
    highest = std::max(highest, series.Highest(window, window + 1));
  });
  return highest;
}

// Returns, sorted, the last completely read window of each port with byte counters.
std::vector<int64_t> LastWindowsRead(const topology::Fabric& fabric, const MetricStore& metrics) {
  constexpr int64_t kMaxBack = 16;  // a port further behind has stopped reporting
  std::vector<int64_t> lasts;
  const auto read = metrics.WindowsRead();
  if (!read) return lasts;
  for (PortIndex port = 0; port < fabric.ports().size(); ++port) {
    const MetricSeries* const series = metrics.Find(EntityOf(fabric, port), Metric::kTxBytes);
    if (series == nullptr) continue;
    const int64_t oldest = std::max(read->first, read->second - kMaxBack);
    for (int64_t window = read->second - 1; window >= oldest; --window) {
      if (!IsRead(metrics, *series, window)) continue;
      lasts.push_back(window);
      break;
    }
  }
  std::ranges::sort(lasts);
  return lasts;
}

std::optional<int64_t> WindowOf(const topology::Fabric& fabric, const MetricStore& metrics,
                                const FlowPaths& paths) {
  const std::vector<int64_t> lasts = LastWindowsRead(fabric, metrics);
  if (!lasts.empty()) return lasts[lasts.size() / 10];
  std::optional<Timestamp> last;
  for (const FlowPath& path : paths) {
    last = std::max(last.value_or(Timestamp::min()), path.intervals.back().until);
  }
  if (!last) return std::nullopt;
  return metrics.WindowOf(*last) - 1;
}

class Loads {
 public:
  Loads(const topology::Fabric& fabric, const MetricStore& metrics, int64_t window)
      : fabric_(fabric), metrics_(metrics), window_(window), loads_(fabric.ports().size()) {}

  void AddCounters() {
    for (PortIndex port = 0; port < loads_.size(); ++port) {
      const PortIndex peer = fabric_.Peer(port);
      if (peer == kNone) continue;
      LinkLoad& load = loads_[port];
      const Entity own = EntityOf(fabric_, port);
      const Entity other = EntityOf(fabric_, peer);
      if (!AddBytes(own, Metric::kTxBytes, load)) AddBytes(other, Metric::kRxBytes, load);
      load.marked = SumOf(metrics_, own, Metric::kEcnMarked, window_);
      load.dropped = SumOf(metrics_, own, Metric::kQueueDrops, window_);
      load.paused = Paused(own);
      load.peak_bytes = std::max(HighestOf(metrics_, own, Metric::kQueueWatermark, window_),
                                 HighestOf(metrics_, own, Metric::kQueueBytes, window_));
      load.errors = SumOf(metrics_, other, Metric::kFcsErrors, window_);
    }
  }

  void AddPaths(const FlowPaths& paths) {
    const Timestamp from = metrics_.StartOf(window_);
    const Timestamp until = metrics_.StartOf(window_ + 1);
    for (const FlowPath& path : paths) {
      for (const PathInterval& stretch : path.intervals) {
        if (stretch.until < from || stretch.from >= until) continue;
        const uint64_t bytes = BytesWithin(stretch, from, until);
        for (const PortIndex port : stretch.certain) {
          LinkLoad& load = loads_[port];
          if (load.source == LoadSource::kCounters || bytes == 0) continue;
          load.source = LoadSource::kPaths;
          load.bytes += bytes;
        }
      }
    }
  }

  std::vector<LinkLoad> Take() {
    std::vector<LinkLoad> known;
    for (PortIndex port = 0; port < loads_.size(); ++port) {
      if (loads_[port] == LinkLoad{}) continue;
      known.push_back(loads_[port]);
      known.back().port = port;
    }
    return known;
  }

 private:
  bool AddBytes(const Entity& entity, Metric metric, LinkLoad& load) const {
    const MetricSeries* const series = metrics_.Find(entity, metric);
    if (series == nullptr || !IsRead(metrics_, *series, window_)) return false;
    load.source = LoadSource::kCounters;
    load.bytes = series->Sum(window_, window_ + 1);
    return true;
  }

  // At most, all eight priorities can be paused all the time.
  Duration Paused(const Entity& entity) const {
    const auto most = static_cast<uint64_t>(metrics_.window().count()) * 8;
    return Duration(
        static_cast<int64_t>(std::min(SumOf(metrics_, entity, Metric::kPfcRxTime, window_), most)));
  }

  const topology::Fabric& fabric_;
  const MetricStore& metrics_;
  const int64_t window_;
  std::vector<LinkLoad> loads_;  // indexed by port
};

}  // namespace

LinkLoads LinkLoadsOf(const topology::Fabric& fabric, const MetricStore& metrics,
                      const FlowPaths& paths) {
  const std::optional<int64_t> window = WindowOf(fabric, metrics, paths);
  if (!window) return {};
  Loads loads(fabric, metrics, *window);
  loads.AddCounters();
  loads.AddPaths(paths);
  return {.from = metrics.StartOf(*window), .window = metrics.window(), .loads = loads.Take()};
}

std::optional<double> UtilizationOf(const topology::Fabric& fabric, const LinkLoad& load,
                                    Duration window) {
  const double bits =
      static_cast<double>(fabric.SpeedOf(load.port)) * static_cast<double>(window.count()) / 1e9;
  if (load.source == LoadSource::kNone || bits == 0) return std::nullopt;
  // The readings of a window can span slightly more than the nominal window.
  return std::min(1.0, static_cast<double>(load.bytes) * 8 / bits);
}

}  // namespace rocescope
