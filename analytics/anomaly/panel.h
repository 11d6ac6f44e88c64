// SPDX-License-Identifier: BSD-3-Clause
// Windows of all entities of a role, scaled so that models can compare them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analytics/metric/metric_store.h"

namespace rocescope {

// Returns log(1 + value / grain). Thus 10 and 20 differ as much as 10,000 and 20,000, but 0 and 1
// differ less. The grain is the smallest relevant amount and depends on the metric's unit.
double Stretched(Metric metric, Duration window, double value);
double Unstretched(Metric metric, Duration window, double stretched);

// Returns a counter's increment or a gauge's level in the window. Unset: no value was reported. A
// counter that was read and did not change has the value 0.
std::optional<double> ValueIn(const MetricStore& store, Metric metric, const MetricSeries& series,
                              int64_t window);

struct Member {
  Entity entity;
  const MetricStore::OfEntity* of_entity = nullptr;
};

struct Panel {
  std::vector<Entity> entities;  // ascending
  std::vector<Metric> metrics;   // ascending
  int64_t from = 0;              // first window
  size_t windows = 0;
  // Stretched values by metric, entity and window, because models look at one metric after the
  // other. NaN means that no value was reported. A counter that was read and did not change has
  // the value 0.
  std::vector<float> values;

  std::span<float> Of(size_t metric, size_t entity) {
    return std::span(values).subspan((metric * entities.size() + entity) * windows, windows);
  }
  std::span<const float> Of(size_t metric, size_t entity) const {
    return std::span(values).subspan((metric * entities.size() + entity) * windows, windows);
  }
};

// Includes only members that were read before window `known_at`.
Panel EmptyPanel(const MetricStore& store, std::span<const Member> members, int64_t known_at);

// Reads panels from a store that does not change. Each value is computed once, unless entities or
// metrics are added.
class PanelReader {
 public:
  // `store` must outlive this object. Panels end at window `end`.
  PanelReader(const MetricStore& store, int64_t end) : store_(store), end_(end) {}

  // Same entities and metrics as `like`, with the windows [from, until).
  Panel Read(const Panel& like, int64_t from, int64_t until);

 private:
  void Fill(const Panel& like, int64_t from);

  const MetricStore& store_;
  const int64_t end_;
  Panel all_;  // the windows [all_.from, end_)
};

}  // namespace rocescope
