// SPDX-License-Identifier: BSD-3-Clause
// Series of all metrics of all entities that the topology knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analytics/metric/entity.h"
#include "analytics/metric/plausible.h"
#include "analytics/metric/reading_problem.h"
#include "analytics/metric/series.h"
#include "analytics/metric/time_gate.h"
#include "dataplane/record/record.h"
#include "topology/fabric.h"

namespace rocescope {

struct MetricOptions {
  Duration window = std::chrono::seconds(1);  // see the run's analysis window
  size_t entities = size_t{1} << 20;
};

struct MetricStatistics {
  uint64_t unknown_entities = 0;  // records of what the topology has not
  uint64_t told_twice = 0;        // records of an sFlow agent, of what others tell too: unused
  uint64_t entities_refused = 0;  // records: all places were taken
};

class MetricStore {
 public:
  // The fabric must outlive it.
  explicit MetricStore(const topology::Fabric& fabric, const MetricOptions& options = {});

  void Add(const CounterRecord& record);
  // Packets have come so far.
  void Advance(Timestamp packets);

  // Null: nobody told that metric of it.
  const MetricSeries* Find(const Entity& entity, Metric metric) const;

  // Ascending by entity; each with the metrics that somebody told, ascending.
  struct OfEntity {
    LinkRates rates;
    std::vector<std::pair<Metric, MetricSeries>> series;
  };
  const std::map<Entity, OfEntity>& entities() const { return entities_; }

  // The windows that readings tell of: the first one's number, and that behind the last; none
  // before there are two readings of anything.
  std::optional<std::pair<int64_t, int64_t>> WindowsRead() const;

  // Whose entity it is: a switch or a host.
  topology::NodeIndex NodeOf(const Entity& entity) const;

  Duration window() const { return options_.window; }
  int64_t WindowOf(Timestamp time) const;
  Timestamp StartOf(int64_t window) const { return Timestamp(window * options_.window); }
  const MetricStatistics& Statistics() const { return statistics_; }
  const ReadingProblem& trouble() const { return problem_; }

 private:
  std::optional<Entity> Resolve(const CounterEntity& entity) const;
  void LookFor(const CounterEntity& entity);
  OfEntity* FindOrAdd();
  void Take(const CounterRecord& record);
  void Hold(const CounterRecord& record);
  void Leap();
  ReadingFate AddTo(MetricSeries& series, const CounterRecord& record);
  void Note(const CounterRecord& record, OddReadings& odd) const;

  const topology::Fabric& fabric_;
  const MetricOptions options_;
  struct Extent {
    Timestamp first = Timestamp::max();
    Timestamp last = Timestamp::min();
  };
  Extent by_others_;
  Extent by_agents_;
  std::map<Entity, OfEntity> entities_;
  MetricStatistics statistics_;
  ReadingProblem problem_;
  TimeGate gate_;
  std::vector<CounterRecord> held_;  // of times at which nobody else was
  // Of the record before: most are of the same entity.
  CounterEntity asked_;
  std::optional<Entity> place_;
  topology::NodeIndex node_ = topology::kNone;
  OfEntity* found_ = nullptr;
  bool was_asked_ = false;
};

}  // namespace rocescope
