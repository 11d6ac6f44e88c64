// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/congestion/hotspot.h"
#include "analytics/congestion/marked_queue.h"
#include "analytics/congestion/queue_tracker.h"
#include "analytics/metric/metric_store.h"

namespace rocescope {

struct HotspotOptions {
  int64_t calm = 2;  // windows without evidence after which a hotspot has ended
};

// Returns hotspots sorted by port, priority and time. A gap shorter than `calm` windows does not
// split a hotspot. Counters of the switch are the evidence where they exist; otherwise INT and the
// CE marks of flows are used. `marked` is sorted by port and window.
std::vector<Hotspot> HotspotsOf(const MetricStore& metrics, const Queues& queues,
                                std::span<const MarkedQueue> marked,
                                const HotspotOptions& options = {});

}  // namespace rocescope
