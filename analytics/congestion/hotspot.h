// SPDX-License-Identifier: BSD-3-Clause
// Where and when an egress queue built up. A hotspot is an observation, not a fault: healthy
// collectives cause congestion too.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "dataplane/record/record.h"
#include "topology/fabric.h"

namespace rocescope {

// Source of the evidence, most reliable first.
enum class HotspotSource : uint8_t {
  kCounters,  // the switch counts CE marks, drops and pauses of its queues
  kInt,       // the switch flagged single packets
  kMarks,     // flows arrived at the switch unmarked and at the next one CE-marked
  kInferred,  // the most likely queue, given which flows are marked or whose receivers send CNPs
};

struct Hotspot {
  topology::PortIndex port = topology::kNone;  // port of the egress queue
  uint8_t priority = CounterEntity::kAllPriorities;
  HotspotSource source = HotspotSource::kCounters;
  Timestamp from;  // aligned to analysis windows: start of the first, end of the last
  Timestamp until;
  uint64_t peak_bytes = 0;  // maximum queue depth; 0: not reported
  uint64_t marked = 0;      // packets CE-marked there; without counters, only those observed
  uint64_t dropped = 0;     // packets dropped because the queue was full
  Duration paused{};        // time for which PFC paused the port

  friend bool operator==(const Hotspot&, const Hotspot&) = default;
};

}  // namespace rocescope
