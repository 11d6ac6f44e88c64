// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/panel.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <limits>
#include <utility>

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

// Calls `set(window, value)` for each window of [from, until) in which there is a value.
template <typename Set>
void ForEachValue(const MetricStore& store, const MetricSeries& series, Metric metric,
                  WindowRange range, Set set) {
  const double grain = GrainOf(metric, store.window());
  const bool is_counter = InfoOf(metric).kind == MetricKind::kCounter;
  if (is_counter) {
    // The windows between the first and the last reading.
    range.first = std::max(range.first,
                           store.WindowOf(series.first_reading() + store.window() - Duration(1)));
    range.last = std::min(range.last, store.WindowOf(series.last_reading()) - 1);
    for (int64_t window = range.first; window <= range.last; ++window) set(window, 0.0F);
  }
  const auto windows = series.windows();
  auto at = std::ranges::lower_bound(windows, range.first, {}, &WindowValue::window);
  for (; at != windows.end() && at->window <= range.last; ++at) {
    if (at->value == 0) {
      set(at->window, 0.0F);
    } else {
      set(at->window, static_cast<float>(std::log1p(static_cast<double>(at->value) / grain)));
    }
  }
  if (!is_counter) return;
  const auto unknown = series.unknown();
  auto next = std::ranges::lower_bound(unknown, range.first);
  for (; next != unknown.end() && *next <= range.last; ++next) set(*next, kMissing);
  if (const auto open = series.open()) {
    const int64_t last = std::min(open->last, range.last);
    for (int64_t window = std::max(open->first, range.first); window <= last; ++window) {
      set(window, kMissing);
    }
  }
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
  std::bitset<kMetricCount> metrics;
  for (const Member& member : members) {
    bool known = false;
    for (const auto& [metric, series] : member.of_entity->series) {
      if (!series.last() || series.first_reading() > store.StartOf(known_at)) continue;
      known = true;
      metrics.set(static_cast<size_t>(metric));
    }
    if (known) panel.entities.push_back(member.entity);
  }
  // An instantaneous queue depth adds almost nothing if the watermark is reported.
  if (metrics.test(static_cast<size_t>(Metric::kQueueWatermark))) {
    metrics.reset(static_cast<size_t>(Metric::kQueueBytes));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (metrics.test(i)) panel.metrics.push_back(static_cast<Metric>(i));
  }
  return panel;
}

Panel PanelReader::Read(const Panel& like, int64_t from, int64_t until) {
  if (from < all_.from || like.entities != all_.entities || like.metrics != all_.metrics) {
    Fill(like, from);
  }
  Panel panel{.entities = like.entities,
              .metrics = like.metrics,
              .from = from,
              .windows = static_cast<size_t>(until - from)};
  panel.values.reserve(panel.entities.size() * panel.metrics.size() * panel.windows);
  const auto first = static_cast<size_t>(from - all_.from);
  for (size_t metric = 0; metric < panel.metrics.size(); ++metric) {
    for (size_t entity = 0; entity < panel.entities.size(); ++entity) {
      const auto part = std::as_const(all_).Of(metric, entity).subspan(first, panel.windows);
      panel.values.insert(panel.values.end(), part.begin(), part.end());
    }
  }
  return panel;
}

void PanelReader::Fill(const Panel& like, int64_t from) {
  all_ = {.entities = like.entities,
          .metrics = like.metrics,
          .from = from,
          .windows = static_cast<size_t>(end_ - from)};
  all_.values.assign(all_.entities.size() * all_.metrics.size() * all_.windows, kMissing);
  for (size_t entity = 0; entity < all_.entities.size(); ++entity) {
    const auto found = store_.entities().find(all_.entities[entity]);
    if (found == store_.entities().end()) continue;
    auto at = all_.metrics.begin();
    for (const auto& [metric, series] : found->second.series) {
      while (at != all_.metrics.end() && *at < metric) ++at;
      if (at == all_.metrics.end()) break;
      if (*at != metric) continue;
      const auto values = all_.Of(static_cast<size_t>(at - all_.metrics.begin()), entity);
      ForEachValue(
          store_, series, metric, {.first = from, .last = end_ - 1},
          [&](int64_t window, float value) { values[static_cast<size_t>(window - from)] = value; });
    }
  }
}

}  // namespace rocescope
