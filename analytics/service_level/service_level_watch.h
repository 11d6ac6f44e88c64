// SPDX-License-Identifier: BSD-3-Clause
// Computes the service levels of all jobs, GPUs, NICs and ports, repeatedly as records arrive, and
// keeps what it learnt between the calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analytics/collective/collective.h"
#include "analytics/job/attribution.h"
#include "analytics/metric/metric_store.h"
#include "analytics/service_level/service_level.h"
#include "topology/fabric.h"

namespace rocescope {

class ServiceLevelWatch {
 public:
  explicit ServiceLevelWatch(const ServiceLevelOptions& options = {}) : options_(options) {}

  // `fabric` and `metrics` are both null without a topology; then only jobs are covered. `rhythms`
  // is sorted by job. Takes time linear in entities and windows.
  ServiceLevels Update(const topology::Fabric* fabric, const MetricStore* metrics,
                       const Attribution& attribution,
                       const std::vector<JobIterationPattern>& iteration_patterns, Duration window);

 private:
  using LearntBounds = std::map<ServiceIndicator, double>;

  // Values of a job, also from before the time range that its iteration pattern covers.
  struct JobPast {
    std::vector<IterationSpan> spans;
    LearntBounds learnt;
  };

  void AddJobs(const Attribution& attribution,
               const std::vector<JobIterationPattern>& iteration_patterns,
               const MetricStore* metrics, Duration window, ServiceLevels& answer);
  void AddEntities(const topology::Fabric& fabric, const MetricStore& metrics,
                   const Attribution& attribution,
                   const std::vector<JobIterationPattern>& iteration_patterns,
                   ServiceLevels& answer);
  // `values` start at the first remembered window.
  std::optional<double> BoundOf(ServiceIndicator indicator, std::span<const double> values,
                                LearntBounds& learnt) const;
  bool IsLearnt(ServiceIndicator indicator) const {
    return options_.bounds[static_cast<size_t>(indicator)].kind == BoundKind::kLearnt;
  }

  const ServiceLevelOptions options_;
  std::map<std::string, JobPast> jobs_;      // indexed by job ID; only jobs of the last state
  std::map<Entity, LearntBounds> entities_;  // entities with learnt bounds
};

}  // namespace rocescope
