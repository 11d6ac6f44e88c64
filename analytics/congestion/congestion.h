// SPDX-License-Identifier: BSD-3-Clause
// Hotspots with their cause, the flows that fill the queue, and the time lost by jobs.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/congestion/hotspot.h"
#include "dataplane/record/record.h"

namespace rocescope {

enum class HotspotCause : uint8_t {
  kUnknown,    // no flow through the queue is known
  kHeld,       // PFC paused the port for at least half of the time: check the neighbour
  kIncast,     // several NICs send at the same time and no other path to the destination exists
  kOneSender,  // one NIC sends faster than the link, and no other path exists
  kCollision,  // parallel links had enough capacity: ECMP hashing put too much on this one
  kOverload,   // all parallel links together had too little capacity
};

struct Culprit {
  FlowKey flow;
  uint64_t bytes = 0;  // bytes on the wire through the queue while it was congested
  double share = 0;    // share of all flows in the queue, 0 to 1

  friend bool operator==(const Culprit&, const Culprit&) = default;
};

struct LostTime {
  uint32_t job = 0;  // index into Attribution::jobs
  // Time in which the congested queue sent packets of others or was paused: an upper bound for what
  // the job would gain with the queue to itself.
  Duration time{};
  std::vector<int> ranks;  // ranks that send through the queue and have known numbers, ascending

  friend bool operator==(const LostTime&, const LostTime&) = default;
};

struct HotspotTraffic {
  // The smallest set of flows that carries at least 80 % of the bytes through the queue, largest
  // first.
  std::vector<Culprit> culprits;
  uint64_t bytes = 0;    // bytes of all flows
  uint32_t flows = 0;    // number of all flows
  double imbalance = 0;  // bytes of the largest flow divided by the mean; 1 if all are equal
  HotspotCause cause = HotspotCause::kUnknown;
  double group_utilization = 0;  // utilisation of the parallel links, as far as known: 0 to 1
  uint32_t group_links = 0;      // number of parallel links, including this one
  std::vector<LostTime> lost;    // indexed by job

  friend bool operator==(const HotspotTraffic&, const HotspotTraffic&) = default;
};

struct Congestion {
  std::vector<Hotspot> hotspots;        // sorted by port, priority and time
  std::vector<HotspotTraffic> traffic;  // parallel to hotspots
};

}  // namespace rocescope
