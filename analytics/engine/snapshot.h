// SPDX-License-Identifier: BSD-3-Clause
// The engine's knowledge at one time. A snapshot is immutable once published: readers share it
// without locks, and unchanged parts are shared between snapshots.
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

// Records that were dropped because a table was full.
struct RefusedRecords {
  uint64_t flows = 0;           // records of flows beyond the maximum number of flows
  uint64_t flows_replaced = 0;  // number of idle flows that new ones replaced
  uint64_t losses = 0;          // records of flows that lost packets
  uint64_t marks = 0;           // records of flows with CE-marked packets
  uint64_t marks_evicted = 0;   // number of flows, not records, with only old windows
  uint64_t queues = 0;          // INT records of queues
  uint64_t delays = 0;          // records of delays between two places
  MetricStatistics metrics;     // counter records
};

struct Snapshot {
  // Returns the known path of the flow, or nullptr if none of its packets were observed.
  const FlowPath* PathOf(const FlowKey& flow) const;
  // Returns the paths of all flows from one NIC to another, sorted by address and queue pair
  // number. For a pair of GPUs, use the NICs next to them. Takes O(log(all flows) + result).
  std::vector<const FlowPath*> PathsBetween(topology::NicIndex source,
                                            topology::NicIndex destination) const;

  std::shared_ptr<const HostFacts> host_facts;
  std::shared_ptr<const FlowSummaries> flows;
  TrafficStatistics traffic_statistics;
  std::shared_ptr<const ConnectionList> connections;
  ConnectionStatistics connection_statistics;
  std::shared_ptr<const Attribution> attribution;
  // Sorted by job; jobs without a detected period are missing.
  std::shared_ptr<const std::vector<JobIterationPattern>> iteration_patterns =
      std::make_shared<const std::vector<JobIterationPattern>>();
  std::shared_ptr<const topology::Fabric> fabric;  // null: no topology was given
  std::shared_ptr<const FlowPaths> paths;          // empty without a topology
  std::shared_ptr<const Congestion> congestion = std::make_shared<const Congestion>();
  std::shared_ptr<const LinkLoads> link_loads = std::make_shared<const LinkLoads>();
  std::shared_ptr<const Anomalies> anomalies = std::make_shared<const Anomalies>();
  // Without a topology, it contains only jobs.
  std::shared_ptr<const ServiceLevels> service_levels = std::make_shared<const ServiceLevels>();
  std::shared_ptr<const Findings> findings = std::make_shared<const Findings>();
  std::shared_ptr<const DiagnosisCoverage> diagnosis_coverage =
      std::make_shared<const DiagnosisCoverage>();
  std::shared_ptr<const CablingAnswer> cabling;  // empty without a topology
  std::shared_ptr<const ClockAnswer> clocks;
  PathStatistics path_statistics;
  uint64_t impossible_delays = 0;
  // Links that were down in all readings, ascending.
  std::vector<topology::LinkIndex> links_never_up;
  ReadingProblem reading_problem;  // unusable counter readings
  RefusedRecords refused;
  uint8_t largest_observation_exponent = 0;
};

}  // namespace rocescope
