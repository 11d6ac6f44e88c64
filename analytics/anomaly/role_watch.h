// SPDX-License-Identifier: BSD-3-Clause
// Evaluates the windows of one role in order.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analytics/anomaly/anomaly.h"
#include "analytics/anomaly/detector.h"
#include "analytics/anomaly/past.h"

namespace rocescope {

class RoleWatch {
 public:
  RoleWatch(const Role& role, const AnomalyOptions& options) : role_(role), options_(options) {}

  // `members` is sorted by entity. `levels` has evaluated the same metrics.
  void Update(const MetricStore& metrics, std::span<const Member> members,
              const EpisodeTracker& levels);

  const std::deque<Anomaly>& anomalies() const { return anomalies_; }
  const std::vector<PhaseChange>& phase_changes() const { return phase_changes_; }
  const AnomalyStatistics& statistics() const { return statistics_; }

 private:
  struct Fitted {
    int64_t at = 0;  // first window that is newer than the fitted past
    Panel panel;     // entities and metrics; no windows
    std::unique_ptr<Past> even;
    std::unique_ptr<Past> odd;
  };

  void Fit(const MetricStore& metrics, std::span<const Member> members,
           const EpisodeTracker& levels, PanelReader& reader, int64_t window);
  void Judge(const MetricStore& metrics, PanelReader& reader, int64_t window);
  void NoteShift(const MetricStore& metrics, int64_t window, uint32_t entities);
  void NoteAnomaly(const MetricStore& metrics, const Panel& panel, size_t entity,
                   const Oddness& even, const Oddness& odd);
  Anomaly& AddAnomaly(const Entity& entity, Timestamp from);
  void ForgetOldest();
  void Forget(int64_t before);

  const Role role_;
  const AnomalyOptions& options_;
  std::optional<int64_t> first_;    // first window in which all entities were read
  int64_t next_ = 0;                // next window to evaluate
  std::unique_ptr<Fitted> fitted_;  // null: no window evaluated yet
  // Anomalous windows are excluded from the past until they are forgotten; a deviation that
  // persists becomes normal.
  std::set<std::pair<int64_t, Entity>> odd_;
  std::deque<Anomaly> anomalies_;
  size_t gone_ = 0;  // number of anomalies removed from the front of `anomalies_`
  // Number of each entity's latest anomaly, counting removed ones.
  std::map<Entity, size_t> latest_;
  std::vector<PhaseChange> phase_changes_;
  AnomalyStatistics statistics_;
};

}  // namespace rocescope
