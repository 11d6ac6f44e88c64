// SPDX-License-Identifier: BSD-3-Clause
// Ingests records and publishes snapshots. The engine is pure: no files, sockets, threads or wall
// clock; the caller advances event time. The same records in the same order give the same
// snapshots.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analytics/anomaly/detector.h"
#include "analytics/cabling/cabling.h"
#include "analytics/clock/clock_offsets.h"
#include "analytics/collective/activity.h"
#include "analytics/collective/collectives.h"
#include "analytics/congestion/mark_tracker.h"
#include "analytics/congestion/queue_tracker.h"
#include "analytics/connection/connection_tracker.h"
#include "analytics/delay/delay_tracker.h"
#include "analytics/diagnosis/finding_history.h"
#include "analytics/diagnosis/thresholds.h"
#include "analytics/engine/snapshot.h"
#include "analytics/flow/flow_registry.h"
#include "analytics/job/attribution.h"
#include "analytics/link/counter_checks.h"
#include "analytics/link/link_errors.h"
#include "analytics/link/link_losses.h"
#include "analytics/loss/loss_tracker.h"
#include "analytics/metric/metric_store.h"
#include "analytics/path/path_tracker.h"
#include "analytics/service_level/service_level_watch.h"
#include "analytics/traffic/traffic.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct EngineOptions {
  size_t flows = kFlowCapacity;  // capacity of the flow registry
  size_t series = SIZE_MAX;      // maximum number of counter series
  // Time without records (event time) after which a new flow may replace a flow even if there is
  // space. 0: disabled.
  Duration idle_timeout{};
  ConnectionOptions connections;
  // Minimum event time between two searches for iteration patterns; 0: search for each snapshot.
  Duration iteration_pattern_pace{};
  // Length of an analysis window for metrics, hotspots and anomalies.
  Duration window = std::chrono::seconds(1);
  Thresholds thresholds;  // thresholds of the diagnosis
  // Live UDP telemetry, whose senders cannot be authenticated: limits the confidence of findings.
  bool is_udp_forgeable = false;
};

class Engine {
 public:
  // Without a topology, answers that need one stay empty.
  explicit Engine(const EngineOptions& options = {},
                  std::shared_ptr<const topology::Fabric> fabric = nullptr);

  // Replaces the facts that hosts reported about themselves.
  void SetHostFacts(HostFacts facts);

  // Sets the location of a tap. Call it before the first record of that tap.
  void LearnTap(const TapLocation& place);

  void Ingest(const RecordBatch& batch);

  // Sets the event time: records before `now` are late from now on.
  void Advance(Timestamp now);

  std::shared_ptr<const Snapshot> Publish();

  // Changes the maximum number of flows, for example when memory runs out. Known flows stay; new
  // ones replace idle ones or are not analysed, which Snapshot::refused counts.
  void SetFlowCapacity(size_t flows) { registry_.SetCapacity(flows); }
  size_t flows() const { return registry_.size(); }
  // The same for counter series. Snapshot::refused counts the readings of refused ones.
  void SetSeriesCapacity(size_t series) { metrics_.SetSeriesCapacity(series); }
  size_t series() const { return metrics_.Statistics().series; }

 private:
  // Applies the ownership changes of queue pair numbers. Only the connection tracker decides on
  // them.
  void ApplyCuts();
  // Adds the records to the trackers that need a topology.
  void IngestOnFabric(const RecordBatch& batch);
  // The answers that the diagnosis uses.
  struct Answers {
    std::shared_ptr<const FlowSummaries> flows;
    std::shared_ptr<const ConnectionList> connections;
    std::shared_ptr<const Attribution> attribution;
    std::shared_ptr<const FlowPaths> paths;
    std::shared_ptr<const std::vector<JobIterationPattern>> iteration_patterns;
    std::shared_ptr<const CablingAnswer> cabling;
  };
  Answers AnswersNow();
  // Diagnoses the stored windows and merges the result with earlier findings. Needs a topology.
  void Diagnose(const Answers& answers);
  // Diagnoses if no snapshot did for 64 windows, so that no window is dropped without a diagnosis.
  void DiagnoseIfDue();
  RefusedRecords Refused() const;
  std::shared_ptr<const Congestion> CongestionOn(const FlowPaths& paths,
                                                 const ConnectionList& connections,
                                                 const Attribution& attribution) const;

  EngineOptions options_;
  std::shared_ptr<const HostFacts> host_facts_ = std::make_shared<const HostFacts>();
  bool has_fabric_;
  std::shared_ptr<const topology::Fabric> fabric_;  // empty if no topology was given
  FlowRegistry registry_;                           // shared by all trackers
  BatchFlows batch_flows_;                          // the flows of the batch that is ingested
  TrafficTotals traffic_;
  ConnectionTracker connections_;
  ActivityTracker activity_;
  CollectiveFinder collectives_;
  ClockOffsets clocks_;
  // The following need a topology.
  PathTracker paths_;
  Cabling cabling_;
  CounterChecks counter_checks_;
  LinkErrors link_errors_;
  LinkLosses link_losses_;
  MetricStore metrics_;
  DelayTracker delays_;
  LossTracker losses_;
  MarkTracker marks_;
  QueueTracker queues_;
  AnomalyDetector anomalies_;
  ServiceLevelWatch service_levels_;
  FindingHistory history_;
  std::shared_ptr<const Findings> findings_ = std::make_shared<const Findings>();
  std::shared_ptr<const DiagnosisCoverage> coverage_ = std::make_shared<const DiagnosisCoverage>();
  std::optional<int64_t> diagnosed_;  // number of the window up to which the diagnosis was made
  uint64_t batches_ = 0;              // non-empty batches
  uint8_t largest_observation_exponent_ = 0;
  bool changed_ = true;
  std::shared_ptr<const Snapshot> last_;
};

}  // namespace rocescope
