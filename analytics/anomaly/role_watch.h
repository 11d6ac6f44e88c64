// SPDX-License-Identifier: BSD-3-Clause
// The windows of one role, one after the other.
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

  // `members` ascending by entity.
  void Update(const MetricStore& metrics, std::span<const Member> members);

  const std::deque<Anomaly>& anomalies() const { return anomalies_; }
  const std::vector<PhaseChange>& phase_changes() const { return phase_changes_; }
  const AnomalyStatistics& statistics() const { return statistics_; }

 private:
  struct Fitted {
    int64_t at = 0;  // the first window that it does not know
    Panel panel;     // entities and metrics; no windows
    std::unique_ptr<Past> even;
    std::unique_ptr<Past> odd;
  };

  void Fit(const MetricStore& metrics, std::span<const Member> members, int64_t window);
  void Judge(const MetricStore& metrics, int64_t window);
  void NoteShift(const MetricStore& metrics, int64_t window, uint32_t entities);
  void NoteAnomaly(const MetricStore& metrics, const Panel& panel, size_t entity,
                   const Oddness& even, const Oddness& odd);
  void ForgetOldest();
  void Forget(int64_t before);

  const Role role_;
  const AnomalyOptions& options_;
  std::optional<int64_t> first_;    // the first window that all of it was read
  int64_t next_ = 0;                // to be judged
  std::unique_ptr<Fitted> fitted_;  // null: no window yet
  // What was odd is no past to compare with, until it is forgotten: what stays is the new usual.
  std::set<std::pair<int64_t, Entity>> odd_;
  std::deque<Anomaly> anomalies_;
  size_t gone_ = 0;                  // before the first of these
  std::map<Entity, size_t> latest_;  // of each entity: its number, those that are gone included
  std::vector<PhaseChange> phase_changes_;
  AnomalyStatistics statistics_;
};

}  // namespace rocescope
