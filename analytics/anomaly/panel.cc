// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/panel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rocescope {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

double GrainOf(Metric metric, Duration window) {
  // A healthy queue sets CE marks and senders react to them: a few marks are irrelevant.
  constexpr double kFewMarks = 32;
  if (metric == Metric::kEcnMarked || metric == Metric::kEcnMarkedRoce) return kFewMarks;
  if (metric == Metric::kCnpSent || metric == Metric::kCnpHandled) return kFewMarks;
  const std::string_view unit = InfoOf(metric).unit;
  if (unit == "bytes") return 4096;                                    // one packet
  if (unit == "ns") return static_cast<double>(window.count()) / 1e3;  // a thousandth of the window
  if (unit == "ms") return static_cast<double>(window.count()) / 1e9;
  if (unit == "Hz" || unit == "bit/s") return 1e6;
  return 1;
}

}  // namespace

double Stretched(Metric metric, Duration window, double value) {
  return std::log1p(value / GrainOf(metric, window));
}

double Unstretched(Metric metric, Duration window, double stretched) {
  return std::max(std::expm1(stretched) * GrainOf(metric, window), 0.0);
}

std::optional<double> ValueIn(const MetricStore& store, Metric metric, const MetricSeries& series,
                              int64_t window) {
  const auto at = std::ranges::lower_bound(series.windows(), window, {}, &WindowValue::window);
  const bool there = at != series.windows().end() && at->window == window;
  if (InfoOf(metric).kind == MetricKind::kCounter) {
    const bool read = series.first_reading() <= store.StartOf(window) &&
                      series.last_reading() >= store.StartOf(window + 1) && series.IsKnown(window);
    if (!read) return std::nullopt;
  } else if (!there) {
    return std::nullopt;
  }
  return there ? static_cast<double>(at->value) : 0;
}

Panel EmptyPanel(const MetricStore& store, std::span<const Member> members, int64_t known_at) {
  Panel panel;
  for (const Member& member : members) {
    bool known = false;
    for (const auto& [metric, series] : member.of_entity->series) {
      if (!series.last() || series.first_reading() > store.StartOf(known_at)) continue;
      known = true;
      panel.metrics.push_back(metric);
    }
    if (known) panel.entities.push_back(member.entity);
    std::ranges::sort(panel.metrics);
    const auto rest = std::ranges::unique(panel.metrics);
    panel.metrics.erase(rest.begin(), rest.end());
  }
  // An instantaneous queue depth adds almost nothing if the watermark is reported.
  if (std::ranges::find(panel.metrics, Metric::kQueueWatermark) != panel.metrics.end()) {
    std::erase(panel.metrics, Metric::kQueueBytes);
  }
  return panel;
}

Panel FilledPanel(const MetricStore& store, const Panel& like, int64_t from, int64_t until) {
  Panel panel{.entities = like.entities, .metrics = like.metrics};
  for (int64_t window = from; window < until; ++window) panel.windows.push_back(window);
  panel.values.assign(panel.At(panel.windows.size(), 0), kMissing);
  for (size_t entity = 0; entity < panel.entities.size(); ++entity) {
    for (size_t i = 0; i < panel.metrics.size(); ++i) {
      const MetricSeries* series = store.Find(panel.entities[entity], panel.metrics[i]);
      if (series == nullptr) continue;
      for (size_t window = 0; window < panel.windows.size(); ++window) {
        const Metric metric = panel.metrics[i];
        const auto value = ValueIn(store, metric, *series, panel.windows[window]);
        if (!value) continue;
        panel.values[panel.At(window, entity) + i] =
            static_cast<float>(Stretched(metric, store.window(), *value));
      }
    }
  }
  return panel;
}

}  // namespace rocescope
