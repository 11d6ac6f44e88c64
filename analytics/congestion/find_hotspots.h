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
  int64_t calm = 2;  // windows without a sign, after which it is over
};

// By port, priority and time. Windows between two signs are the hotspot's if they are fewer than
// `calm`. Signs are what the switch counts; of a port whose queues nobody counts, what INT and the
// marks of flows tell. `marked` by port and window.
std::vector<Hotspot> HotspotsOf(const MetricStore& metrics, const Queues& queues,
                                std::span<const MarkedQueue> marked,
                                const HotspotOptions& options = {});

}  // namespace rocescope
