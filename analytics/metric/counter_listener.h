// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analytics/metric/entity.h"
#include "analytics/metric/series.h"
#include "dataplane/record/metric.h"

namespace rocescope {

// Receives each reading of a counter that MetricStore accepted, after it was added to its series.
class CounterListener {
 public:
  virtual ~CounterListener() = default;
  virtual void OnCounter(const Entity& entity, Metric metric, const MetricSeries& series) = 0;
};

}  // namespace rocescope
