// SPDX-License-Identifier: BSD-3-Clause
// Windows of all entities of a role, in numbers that models can compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analytics/metric/metric_store.h"

namespace rocescope {

// A count of 10 and one of 20 differ as 10,000 and 20,000 do, but 0 and 1 do not differ as much:
// log(1 + value / grain). The grain is the least that is worth a look, by the metric's unit.
double Stretched(Metric metric, Duration window, double value);
double Unstretched(Metric metric, Duration window, double stretched);

struct Member {
  Entity entity;
  const MetricStore::OfEntity* of_entity = nullptr;
};

struct Panel {
  std::vector<Entity> entities;  // ascending
  std::vector<Metric> metrics;   // ascending
  std::vector<int64_t> windows;
  // Stretched, by window, entity, metric; not a number: nobody told. A counter that stood still
  // while somebody read it counted nothing, which is 0.
  std::vector<float> values;

  size_t At(size_t window, size_t entity) const {
    return (window * entities.size() + entity) * metrics.size();
  }
  std::span<const float> Of(size_t window, size_t entity) const {
    return std::span(values).subspan(At(window, entity), metrics.size());
  }
};

// Of members that somebody had read before window `known_at`.
Panel EmptyPanel(const MetricStore& store, std::span<const Member> members, int64_t known_at);
// The same entities and metrics, with windows from `from` on and before `until`.
Panel FilledPanel(const MetricStore& store, const Panel& like, int64_t from, int64_t until);

}  // namespace rocescope
