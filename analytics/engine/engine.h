// SPDX-License-Identifier: BSD-3-Clause
// Ingests records and publishes snapshots. The engine is pure: no files, sockets, threads or wall
// clock; the caller advances event time. The same records in the same order give the same
// snapshots.
#pragma once

#include <memory>
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
#include "analytics/diagnosis/thresholds.h"
#include "analytics/engine/snapshot.h"
#include "analytics/flow/flow_registry.h"
#include "analytics/job/attribution.h"
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
  ConnectionOptions connections;
  // Minimum event time between two searches for iteration patterns; 0: search for each snapshot.
  Duration iteration_pattern_pace{};
  // Length of an analysis window for metrics, hotspots and anomalies.
  Duration window = std::chrono::seconds(1);
  Thresholds thresholds;  // thresholds of the diagnosis
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options = {})
      : options_(options),
        registry_(options.flows),
        traffic_(registry_),
        connections_(registry_, options.connections),
        activity_(registry_),
        collectives_(options.iteration_pattern_pace) {
    activity_.SetClocks(clocks_.get());
  }

  // Replaces the facts that hosts reported about themselves.
  void SetHostFacts(HostFacts facts);

  // Sets the topology, which enables path analysis. Call it at most once, before any record.
  void SetFabric(std::shared_ptr<const topology::Fabric> fabric);

  // Sets the location of a tap. Call it before the first record of that tap.
  void LearnTap(const TapLocation& place);

  void Ingest(const RecordBatch& batch);

  // Sets the event time: records before `now` are late from now on.
  void Advance(Timestamp now);

  std::shared_ptr<const Snapshot> Publish();

 private:
  // Applies the ownership changes of queue pair numbers. Only the connection tracker decides on
  // them.
  void ApplyCuts();
  RefusedRecords Refused() const;
  std::shared_ptr<const FlowPaths> ExplainedPaths();
  std::shared_ptr<const Congestion> CongestionOn(const FlowPaths& paths,
                                                 const ConnectionList& connections,
                                                 const Attribution& attribution) const;

  EngineOptions options_;
  std::shared_ptr<const HostFacts> host_facts_ = std::make_shared<const HostFacts>();
  FlowRegistry registry_;   // shared by all trackers
  BatchFlows batch_flows_;  // the flows of the batch that is ingested
  TrafficTotals traffic_;
  ConnectionTracker connections_;
  ActivityTracker activity_;
  CollectiveFinder collectives_;
  std::shared_ptr<const topology::Fabric> fabric_;
  std::unique_ptr<PathTracker> paths_;          // null without a topology
  std::unique_ptr<Cabling> cabling_;            // null without a topology
  std::unique_ptr<MetricStore> metrics_;        // null without a topology
  std::unique_ptr<DelayTracker> delays_;        // null without a topology
  std::unique_ptr<LossTracker> losses_;         // null without a topology
  std::unique_ptr<MarkTracker> marks_;          // null without a topology
  std::unique_ptr<QueueTracker> queues_;        // null without a topology
  std::unique_ptr<AnomalyDetector> anomalies_;  // null without a topology
  ServiceLevelWatch service_levels_;
  // On the heap, because the path tracker keeps its address and an engine may be moved.
  std::unique_ptr<ClockOffsets> clocks_ = std::make_unique<ClockOffsets>();
  uint64_t batches_ = 0;  // non-empty batches
  uint8_t largest_observation_exponent_ = 0;
  bool changed_ = true;
  std::shared_ptr<const Snapshot> last_;
};

}  // namespace rocescope
