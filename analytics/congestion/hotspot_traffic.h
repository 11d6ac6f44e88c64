// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "analytics/congestion/congestion.h"
#include "analytics/job/flow_owner.h"
#include "analytics/metric/metric_store.h"
#include "analytics/path/path.h"
#include "topology/fabric.h"

namespace rocescope {

// Computes the traffic of each hotspot, parallel to `hotspots`. A flow's bytes are spread evenly
// over the time for which it used a path; uncertain paths are ignored. The load of other links
// comes from port counters, otherwise from flows with known paths.
std::vector<HotspotTraffic> TrafficOf(std::span<const Hotspot> hotspots, const FlowPaths& paths,
                                      const FlowOwners& owners, const MetricStore& metrics,
                                      const topology::Fabric& fabric);

}  // namespace rocescope
