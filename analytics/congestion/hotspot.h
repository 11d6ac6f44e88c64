// SPDX-License-Identifier: BSD-3-Clause
// Where and when an egress queue filled up. An observation, not a fault: collectives congest too.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "dataplane/record/record.h"
#include "topology/fabric.h"

namespace rocescope {

// Who says so, the surest first.
enum class HotspotSource : uint8_t {
  kCounters,  // the switch counts marks, drops and pauses of its queues
  kInt,       // the switch said so of single packets
  kMarks,     // flows came to the switch without a mark, and to the next one with it
  kInferred,  // it explains best which flows are marked, or whose receivers send notifications
};

struct Hotspot {
  topology::PortIndex port = topology::kNone;  // whose egress queue it is
  uint8_t priority = CounterEntity::kAllPriorities;
  HotspotSource source = HotspotSource::kCounters;
  Timestamp from;  // of analysis windows: beginning of the first, end of the last
  Timestamp until;
  uint64_t peak_bytes = 0;  // most in the queue; 0: nobody told
  uint64_t marked = 0;      // packets that got a CE mark there; if nobody counts, those seen
  uint64_t dropped = 0;     // for want of room
  Duration paused{};        // that the neighbour held it by PFC

  friend bool operator==(const Hotspot&, const Hotspot&) = default;
};

}  // namespace rocescope
