// SPDX-License-Identifier: BSD-3-Clause
// Detects anomalies in all metrics of all entities, one analysis window at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "analytics/anomaly/anomaly.h"
#include "analytics/anomaly/episode_tracker.h"
#include "analytics/metric/metric_store.h"
#include "topology/fabric.h"

namespace rocescope {

struct AnomalyOptions {
  // A window is anomalous if a deviation this large is less likely than this probability. The two
  // halves of the past differ slightly: one half must be clearly below this limit and the other
  // must not be clearly above it.
  double odd = 1e-6;
  double clearly = 10;  // factor
  // At most this many entities of a role, or this share of them, can be anomalous at the same time.
  // More than that is a phase change.
  uint32_t few = 2;
  double few_share = 0.2;
  int64_t shortest_past = 8;  // windows
  int64_t longest_past = 64;  // windows; older windows are forgotten, including anomalous ones
  int64_t calm = 2;  // normal windows after which a further anomalous window starts a new anomaly
  double refit_each = 1.0 / 8;  // refit the models after this fraction of the past was replaced
  size_t most_anomalies = 4096;
};

class RoleWatch;

class AnomalyDetector {
 public:
  // `fabric` must outlive the detector.
  explicit AnomalyDetector(const topology::Fabric& fabric, const AnomalyOptions& options = {});
  ~AnomalyDetector();

  // Evaluates windows that completed since the last call. A window is complete once all entities of
  // a role have reported it, except those that have stopped reporting.
  void Update(const MetricStore& metrics);

  Anomalies Answer() const;

 private:
  const topology::Fabric& fabric_;
  const AnomalyOptions options_;
  std::optional<EpisodeTracker> episodes_;  // unset before the first update
  Duration window_{};
  std::map<Role, std::unique_ptr<RoleWatch>> watches_;
};

}  // namespace rocescope
