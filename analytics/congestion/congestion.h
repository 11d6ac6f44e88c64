// SPDX-License-Identifier: BSD-3-Clause
// Hotspots, and why: whose packets fill the queue, whom it costs time, and what it comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/congestion/hotspot.h"
#include "dataplane/record/record.h"

namespace rocescope {

enum class HotspotCause : uint8_t {
  kUnknown,    // no flow is known to have passed
  kHeld,       // the neighbour held it by PFC for half of the time or more: ask there
  kIncast,     // several NICs send at a time, and there is no other way to where they send
  kOneSender,  // one NIC, and there is no other way: it sends faster than the link does
  kCollision,  // other links led there too, and all together had room: hashes put too much on one
  kOverload,   // other links led there too, and all together had none
};

struct Culprit {
  FlowKey flow;
  uint64_t bytes = 0;  // on the wire, through the queue while it was hot
  double share = 0;    // of all flows' there: 0 to 1

  friend bool operator==(const Culprit&, const Culprit&) = default;
};

struct LostTime {
  uint32_t job = 0;  // its place in Attribution::jobs
  // While the queue was hot it sent others' packets or was held for so long: what the job had
  // gained at most, had it had the queue for itself.
  Duration time{};
  std::vector<int> ranks;  // that send by it, as far as they have numbers; ascending

  friend bool operator==(const LostTime&, const LostTime&) = default;
};

struct HotspotTraffic {
  // The fewest flows that together hold four fifths of what went through the queue, the largest
  // first.
  std::vector<Culprit> culprits;
  uint64_t bytes = 0;    // of all flows
  uint32_t flows = 0;    // all
  double imbalance = 0;  // the largest flow's octets over the mean of all: 1 if all carry the same
  HotspotCause cause = HotspotCause::kUnknown;
  double group_utilization = 0;        // of the links that lead there, as far as known: 0 to 1
  uint32_t group_links = 0;    // how many there are, with this one
  std::vector<LostTime> lost;  // by job

  friend bool operator==(const HotspotTraffic&, const HotspotTraffic&) = default;
};

struct Congestion {
  std::vector<Hotspot> hotspots;        // by port, priority, time
  std::vector<HotspotTraffic> traffic;  // of each of them
};

}  // namespace rocescope
