// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/detector.h"

#include <algorithm>
#include <tuple>

#include "analytics/anomaly/explain_anomalies.h"
#include "analytics/anomaly/role_watch.h"

namespace rocescope {

AnomalyDetector::AnomalyDetector(const topology::Fabric& fabric, const AnomalyOptions& options)
    : fabric_(fabric), options_(options) {}

AnomalyDetector::~AnomalyDetector() = default;

void AnomalyDetector::Update(const MetricStore& metrics) {
  if (!episodes_) episodes_.emplace(fabric_, window_ = metrics.window());
  episodes_->Update(metrics);
  std::map<Role, std::vector<Member>> members;
  for (const auto& [entity, of_entity] : metrics.entities()) {
    members[RoleOf(fabric_, entity)].push_back({.entity = entity, .of_entity = &of_entity});
  }
  for (const auto& [role, of_role] : members) {
    std::unique_ptr<RoleWatch>& watch = watches_[role];
    if (!watch) watch = std::make_unique<RoleWatch>(role, options_);
    watch->Update(metrics, of_role, *episodes_);
  }
}

Anomalies AnomalyDetector::Answer() const {
  Anomalies answer;
  AnomalyStatistics& sum = answer.statistics;
  for (const auto& [role, watch] : watches_) {
    answer.anomalies.insert(answer.anomalies.end(), watch->anomalies().begin(),
                            watch->anomalies().end());
    answer.phase_changes.insert(answer.phase_changes.end(), watch->phase_changes().begin(),
                                watch->phase_changes().end());
    const AnomalyStatistics& one = watch->statistics();
    sum.judged += one.judged;
    sum.unjudged += one.unjudged;
    sum.stable += one.stable;
    sum.unstable += one.unstable;
    sum.shared += one.shared;
    sum.refused += one.refused;
    sum.fits += one.fits;
  }
  std::ranges::sort(answer.anomalies, {},
                    [](const Anomaly& one) { return std::tuple(one.from, one.entity, one.until); });
  std::ranges::sort(answer.phase_changes, {},
                    [](const PhaseChange& one) { return std::tuple(one.from, one.role); });
  if (!episodes_) return answer;
  answer.episodes = episodes_->Episodes();
  sum.forgotten_episodes = episodes_->forgotten();
  ExplainAnomalies(fabric_, window_, answer);
  return answer;
}

}  // namespace rocescope
