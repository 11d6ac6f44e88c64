// SPDX-License-Identifier: BSD-3-Clause
// Records in, answers out. Pure: no files, sockets, threads or wall clock; the caller says how far
// event time has come. The same records in the same order give the same snapshots.
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
  ConnectionOptions connections;
  // Jobs' rhythms are looked for at most once in so much event time; 0: for each snapshot.
  Duration iteration_pattern_pace{};
  Duration window = std::chrono::seconds(1);  // of analysis: metrics, hotspots, anomalies
  Thresholds thresholds;                      // of the diagnosis
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options = {})
      : options_(options), connections_(options.connections), collectives_(options.iteration_pattern_pace) {
    activity_.SetClocks(clocks_.get());
  }

  // What hosts said about themselves; replaces what was said before.
  void SetHostFacts(HostFacts facts);

  // What the fabric is: paths are looked for from now on. Once, before any record.
  void SetFabric(std::shared_ptr<const topology::Fabric> fabric);

  // Where a tap is; before the first record that names it.
  void LearnTap(const TapLocation& place);

  void Ingest(const RecordBatch& batch);

  // Event time has reached `now`: no earlier record will come but a late one.
  void Advance(Timestamp now);

  std::shared_ptr<const Snapshot> Publish();

 private:
  // The tracker alone says when a queue pair number changed hands.
  void ApplyCuts();
  RefusedRecords Refused() const;
  std::shared_ptr<const FlowPaths> ExplainedPaths();
  std::shared_ptr<const Congestion> CongestionOn(const FlowPaths& paths,
                                                 const ConnectionList& connections,
                                                 const Attribution& attribution) const;

  EngineOptions options_;
  std::shared_ptr<const HostFacts> host_facts_ = std::make_shared<const HostFacts>();
  TrafficTotals traffic_;
  ConnectionTracker connections_;
  ActivityTracker activity_;
  CollectiveFinder collectives_;
  std::shared_ptr<const topology::Fabric> fabric_;
  std::unique_ptr<PathTracker> paths_;          // null without a fabric
  std::unique_ptr<Cabling> cabling_;            // likewise
  std::unique_ptr<MetricStore> metrics_;        // likewise
  std::unique_ptr<DelayTracker> delays_;        // likewise
  std::unique_ptr<LossTracker> losses_;         // likewise
  std::unique_ptr<MarkTracker> marks_;          // likewise
  std::unique_ptr<QueueTracker> queues_;        // likewise
  std::unique_ptr<AnomalyDetector> anomalies_;  // likewise
  ServiceLevelWatch service_levels_;
  // Its place is known to the path tracker, and an engine may be moved.
  std::unique_ptr<ClockOffsets> clocks_ = std::make_unique<ClockOffsets>();
  uint64_t batches_ = 0;  // with anything in them
  uint8_t largest_observation_exponent_ = 0;
  bool changed_ = true;
  std::shared_ptr<const Snapshot> last_;
};

}  // namespace rocescope
