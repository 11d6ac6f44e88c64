// SPDX-License-Identifier: BSD-3-Clause
// Levels of service of all jobs, GPUs, NICs and ports, one state of the records after the other.
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

  // `fabric` and `metrics`: both null without a topology, and then of jobs alone. `rhythms`: by
  // job, of these. Linear in entities and windows.
  ServiceLevels Update(const topology::Fabric* fabric, const MetricStore* metrics,
                       const Attribution& attribution, const std::vector<JobIterationPattern>& iteration_patterns,
                       Duration window);

 private:
  using LearntBounds = std::map<ServiceIndicator, double>;

  // Time lines forget; what they once told of a job is kept.
  struct JobPast {
    std::vector<IterationSpan> spans;
    LearntBounds learnt;
  };

  void AddJobs(const Attribution& attribution, const std::vector<JobIterationPattern>& iteration_patterns,
               const MetricStore* metrics, Duration window, ServiceLevels& answer);
  void AddEntities(const topology::Fabric& fabric, const MetricStore& metrics,
                   const Attribution& attribution, const std::vector<JobIterationPattern>& iteration_patterns,
                   ServiceLevels& answer);
  // `values`: from the first window on that is remembered.
  std::optional<double> BoundOf(ServiceIndicator indicator, std::span<const double> values,
                                LearntBounds& learnt) const;
  bool IsLearnt(ServiceIndicator indicator) const {
    return options_.bounds[static_cast<size_t>(indicator)].kind == BoundKind::kLearnt;
  }

  const ServiceLevelOptions options_;
  std::map<std::string, JobPast> jobs_;      // by id: those of the last state
  std::map<Entity, LearntBounds> entities_;  // those that had to learn
};

}  // namespace rocescope
