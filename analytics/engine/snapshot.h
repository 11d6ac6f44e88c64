// SPDX-License-Identifier: BSD-3-Clause
// What the engine knows at one moment. Immutable once published: readers share it without locks,
// and parts that did not change are shared between snapshots.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/attribution.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

struct Snapshot {
  std::shared_ptr<const HostFacts> host_facts;
  std::shared_ptr<const std::vector<FlowSummary>> flows;  // by key
  TrafficStatistics traffic_statistics;
  std::shared_ptr<const std::vector<Connection>> connections;  // by endpoints
  ConnectionStatistics connection_statistics;
  std::shared_ptr<const Attribution> attribution;
  uint8_t largest_sighting_exponent = 0;
};

}  // namespace rocescope
