// SPDX-License-Identifier: BSD-3-Clause
// Where and when an egress queue filled up. An observation, not a fault: collectives congest too.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/metric/metric_store.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

struct Hotspot {
  topology::PortIndex port = topology::kNone;  // whose egress queue it is
  uint8_t priority = CounterEntity::kAllPriorities;
  Timestamp from;  // of analysis windows: beginning of the first, end of the last
  Timestamp until;
  uint64_t peak_bytes = 0;  // most in the queue; 0: nobody told
  uint64_t marked = 0;      // packets that got a CE mark there
  uint64_t dropped = 0;     // for want of room
  Duration paused{};        // that the neighbour held it by PFC

  friend bool operator==(const Hotspot&, const Hotspot&) = default;
};

struct HotspotOptions {
  int64_t calm = 2;  // windows without a sign, after which it is over
};

// By what switches count of their queues: marks, drops, and pauses received. By port, priority and
// time. Windows between two signs are the hotspot's if they are fewer than `calm`.
std::vector<Hotspot> HotspotsOf(const MetricStore& metrics, const HotspotOptions& options = {});

}  // namespace rocescope
