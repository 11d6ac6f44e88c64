// SPDX-License-Identifier: BSD-3-Clause
// The values of all counters of a run of the flow model at any time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/flow/flow_history.h"
#include "sim/recording/exact_counters.h"

namespace rocescope::sim {

class FlowCounters final : public ExactCounters {
 public:
  // The history must outlive this object, unless `owner` owns it. `epoch`: the start of the run.
  FlowCounters(const FlowHistory& history, Timestamp epoch,
               std::shared_ptr<const void> owner = nullptr);

  std::span<const Entity> entities() const override { return entities_; }
  Timestamp begin() const override { return epoch_; }
  Timestamp end() const override;
  // Returns one value of an entity. `metric` is an index in Entity::metrics. For each entity, times
  // must not decrease from call to call.
  uint64_t CounterAt(uint32_t entity, size_t metric, SimTime time);
  uint64_t GaugeAt(uint32_t entity, size_t metric, SimTime time);
  std::vector<Outage> OutagesOf(uint32_t entity) const override;
  bool Read(uint32_t entity, Timestamp since, Timestamp time, std::span<uint64_t> values) override;

 private:
  struct SeriesCache {
    SimTime time = -1;
    double value = 0;
    size_t hint = 0;
  };
  struct CountCache {
    SimTime time = -1;
    int64_t value = 0;
  };
  // State of the queries of one value. `settled` is the sum of the terms whose counts no longer
  // change; `terms` has the others.
  struct Cursor {
    uint64_t settled = 0;
    SimTime next_settled = 0;  // when the next of its counts no longer changes
    std::vector<FlowHistory::Term> terms;
    size_t step = 0;  // gauge: the last step before the latest query
  };

  int64_t ValueOf(uint32_t count, SimTime time);
  uint64_t Weighted(const FlowHistory::Term& term, SimTime time);
  SimTime EndOf(uint32_t count) const;
  void Settle(Cursor& cursor, SimTime time);
  uint64_t Counter(Cursor& cursor, SimTime time);
  uint64_t Gauge(const FlowHistory::Value& value, Cursor& cursor, Metric metric, SimTime since,
                 SimTime time) const;
  uint64_t Busy(const FlowHistory::Value& value, SimTime since, SimTime time);

  const std::shared_ptr<const void> owner_;
  const FlowHistory& history_;
  const Timestamp epoch_;
  std::vector<Entity> entities_;
  std::vector<SeriesCache> series_;
  std::vector<CountCache> counts_;
  std::vector<Cursor> cursors_;                            // by value
  std::vector<std::vector<FlowHistory::Outage>> outages_;  // by node
};

}  // namespace rocescope::sim
