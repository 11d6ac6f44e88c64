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

// Of each hotspot, as `hotspots` has them. A flow's octets are taken to lie evenly over the time
// for which it took a way; ways that are not certain at the port do not count. What other links
// carried is what their ports count, or else what flows are known to have gone by them.
std::vector<HotspotTraffic> TrafficOf(std::span<const Hotspot> hotspots, const FlowPaths& paths,
                                      const FlowOwners& owners, const MetricStore& metrics,
                                      const topology::Fabric& fabric);

}  // namespace rocescope
