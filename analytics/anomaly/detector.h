// SPDX-License-Identifier: BSD-3-Clause
// Looks for anomalies in all metrics of all entities, window by window, as windows come to an end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "analytics/anomaly/anomaly.h"
#include "analytics/metric/metric_store.h"
#include "topology/fabric.h"

namespace rocescope {

struct AnomalyOptions {
  // A window is odd if one so far off comes less often than this. What the halves of the past say
  // differs a little: one half has to be clearly below, and the other not clearly above.
  double odd = 1e-6;
  double clearly = 10;  // times
  // Odd at the same time, by role, are at most so many, or this share: more are a change of phase.
  uint32_t few = 2;
  double few_share = 0.2;
  int64_t shortest_past = 8;    // windows
  int64_t longest_past = 64;    // windows: beyond, it is forgotten, what was odd in it too
  int64_t calm = 2;             // windows that are not odd, after which another anomaly begins
  double refit_each = 1.0 / 8;  // models: after this share of their past
  size_t most_anomalies = 4096;
};

class RoleWatch;

class AnomalyDetector {
 public:
  // The fabric must outlive it.
  explicit AnomalyDetector(const topology::Fabric& fabric, const AnomalyOptions& options = {});
  ~AnomalyDetector();

  // Judges windows that have come to an end since: that all of a role, but who fell silent, told
  // of.
  void Update(const MetricStore& metrics);

  Anomalies Answer() const;

 private:
  const topology::Fabric& fabric_;
  const AnomalyOptions options_;
  std::map<Role, std::unique_ptr<RoleWatch>> watches_;
};

}  // namespace rocescope
