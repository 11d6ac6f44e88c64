// SPDX-License-Identifier: BSD-3-Clause
// Time series of all metrics of all entities in the topology.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analytics/metric/counter_listener.h"
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
  size_t series = SIZE_MAX;                 // maximum number of series of all entities
  std::vector<CounterListener*> listeners;  // must outlive the store
};

struct MetricStatistics {
  uint64_t unknown_entities = 0;  // records of entities that are not in the topology
  uint64_t told_twice = 0;  // sFlow records of metrics that another source also reports: ignored
  uint64_t entities_refused = 0;  // records dropped because the table was full
  uint64_t series = 0;            // present number of series
  uint64_t series_refused = 0;    // readings dropped because there were too many series
  Timestamp series_refused_at;    // time of the latest one; the epoch: none
};

class MetricStore {
 public:
  // `fabric` must outlive this object.
  explicit MetricStore(const topology::Fabric& fabric, const MetricOptions& options = {});

  // Adds the counter records, then the readings.
  void Add(const RecordBatch& batch);
  void Add(const CounterRecord& record);
  // Sets the latest event time of packets, which can confirm the time of a held reading.
  void Advance(Timestamp packets);

  // Changes the maximum number of series, for example when memory runs out. Present series stay and
  // are updated; new ones are refused.
  void SetSeriesCapacity(size_t series) { series_capacity_ = series; }

  // Null: the metric was never reported for this entity.
  const MetricSeries* Find(const Entity& entity, Metric metric) const;

  // Sorted by entity; each entity contains its reported metrics in ascending order.
  struct OfEntity {
    LinkRates rates;
    std::vector<std::pair<Metric, MetricSeries>> series;
  };
  const std::map<Entity, OfEntity>& entities() const { return entities_; }

  // Returns the range of windows covered by readings (first, one past the last); unset until some
  // metric has two readings.
  std::optional<std::pair<int64_t, int64_t>> WindowsRead() const;

  // Returns the switch or host of the entity.
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
  bool CanAddSeries() const { return statistics_.series < series_capacity_; }
  // The value of a metric of the entity found_.
  struct Value {
    Metric metric = Metric::kRxBytes;
    uint8_t bits = 64;
    uint64_t value = 0;
    Timestamp time;
  };
  static Value ValueOf(const CounterRecord& record) {
    return {.metric = record.metric,
            .bits = record.bits,
            .value = record.value,
            .time = record.event_time};
  }
  // Where a group's values go.
  struct Target {
    std::optional<Entity> place;
    topology::NodeIndex node = topology::kNone;
    OfEntity* entity = nullptr;
    std::vector<uint32_t> series;  // by metric of the group: probable index into the series
  };
  void Add(const ReadingRecord& reading, std::span<const uint64_t> values);
  void Approach(const ReadingRecord& reading) const;
  void ApproachWindows(const ReadingRecord& reading) const;
  void Take(const CounterEntity& entity, const Value& value);
  void RefuseSeries(const Value& value);
  void Hold(const CounterRecord& record);
  void Leap();
  ReadingFate AddTo(MetricSeries& series, const Value& value);
  static void Note(const CounterEntity& entity, const Value& value, OddReadings& odd);

  const topology::Fabric& fabric_;
  const MetricOptions options_;
  const WindowWidth width_;
  struct Extent {
    Timestamp first = Timestamp::max();
    Timestamp last = Timestamp::min();
  };
  Extent by_others_;
  Extent by_agents_;
  std::map<Entity, OfEntity> entities_;
  size_t series_capacity_;
  MetricStatistics statistics_;
  ReadingProblem problem_;
  std::vector<Timestamp> resets_;  // by node: latest reading in which a counter decreased
  TimeGate gate_;
  std::vector<CounterRecord> held_;  // readings with times that no other node confirms yet
  // Cache for the entity of the previous record, because consecutive records mostly have the same
  // entity.
  CounterEntity asked_;
  std::optional<Entity> place_;
  topology::NodeIndex node_ = topology::kNone;
  OfEntity* found_ = nullptr;
  bool was_asked_ = false;
  size_t next_series_ = 0;  // index into the series of found_: the one after the previous record
  ByCounterGroup<Target> targets_;
};

}  // namespace rocescope
