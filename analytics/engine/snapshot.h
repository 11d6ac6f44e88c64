// SPDX-License-Identifier: BSD-3-Clause
// What the engine knows at one moment. Immutable once published: readers share it without locks,
// and parts that did not change are shared between snapshots.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analytics/anomaly/anomaly.h"
#include "analytics/cabling/cable_finding.h"
#include "analytics/clock/clock_offset.h"
#include "analytics/collective/collective.h"
#include "analytics/congestion/congestion.h"
#include "analytics/congestion/link_load.h"
#include "analytics/connection/connection.h"
#include "analytics/diagnosis/coverage.h"
#include "analytics/diagnosis/finding.h"
#include "analytics/job/attribution.h"
#include "analytics/metric/metric_store.h"
#include "analytics/metric/reading_problem.h"
#include "analytics/path/path.h"
#include "analytics/service_level/service_level.h"
#include "analytics/traffic/traffic.h"
#include "topology/fabric.h"

namespace rocescope {

// Records that count nowhere, as a table had no place for them.
struct RefusedRecords {
  uint64_t losses = 0;         // of flows that lost packets
  uint64_t marks = 0;          // of flows with marked packets
  uint64_t marks_evicted = 0;  // flows, not records: of windows long past
  uint64_t queues = 0;         // of queues, by INT
  uint64_t delays = 0;         // of delays between two places
  MetricStatistics metrics;    // of counters
};

struct Snapshot {
  // By which links the flow went, as far as is known; nullptr if none of its packets was seen.
  const FlowPath* PathOf(const FlowKey& flow) const;
  // Likewise all flows that one NIC sent to another, by address and queue pair number: those of a
  // pair of GPUs are those of the NICs next to them. Takes the logarithm of all flows, and those.
  std::vector<const FlowPath*> PathsBetween(topology::NicIndex source,
                                            topology::NicIndex destination) const;

  std::shared_ptr<const HostFacts> host_facts;
  std::shared_ptr<const FlowSummaries> flows;
  TrafficStatistics traffic_statistics;
  std::shared_ptr<const ConnectionList> connections;
  ConnectionStatistics connection_statistics;
  std::shared_ptr<const Attribution> attribution;
  // By job; not all have one.
  std::shared_ptr<const std::vector<JobIterationPattern>> iteration_patterns =
      std::make_shared<const std::vector<JobIterationPattern>>();
  std::shared_ptr<const topology::Fabric> fabric;  // null: nobody said what it is
  std::shared_ptr<const FlowPaths> paths;          // none without a fabric
  std::shared_ptr<const Congestion> congestion = std::make_shared<const Congestion>();
  std::shared_ptr<const LinkLoads> link_loads = std::make_shared<const LinkLoads>();
  std::shared_ptr<const Anomalies> anomalies = std::make_shared<const Anomalies>();
  // Of jobs alone without a fabric.
  std::shared_ptr<const ServiceLevels> service_levels = std::make_shared<const ServiceLevels>();
  std::shared_ptr<const Findings> findings = std::make_shared<const Findings>();
  std::shared_ptr<const DiagnosisCoverage> diagnosis_coverage =
      std::make_shared<const DiagnosisCoverage>();
  std::shared_ptr<const CablingAnswer> cabling;  // of nothing without a fabric
  std::shared_ptr<const ClockAnswer> clocks;
  PathStatistics path_statistics;
  uint64_t impossible_delays = 0;
  ReadingProblem reading_problem;  // of counters
  RefusedRecords refused;
  uint8_t largest_observation_exponent = 0;
};

}  // namespace rocescope
