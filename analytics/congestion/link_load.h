// SPDX-License-Identifier: BSD-3-Clause
// How busy each link is, by the counters at its ends or, where there are none, by the flows that
// were seen on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/metric/metric_store.h"
#include "analytics/path/path.h"
#include "topology/fabric.h"

namespace rocescope {

enum class LoadSource : uint8_t {
  kNone,      // nobody tells
  kCounters,  // octets that the sender counts, or else the receiver
  kPaths,     // of flows whose way is certain there: others' octets are not in it
};

// One direction of a link, in one analysis window.
struct LinkLoad {
  topology::PortIndex port = topology::kNone;  // that sends
  LoadSource source = LoadSource::kNone;       // of `bytes`
  uint64_t bytes = 0;                          // on the wire
  uint64_t marked = 0;                         // packets that got a CE mark in its queues
  uint64_t dropped = 0;                        // packets, for want of room in them
  Duration paused{};        // that the neighbour held it by PFC, the sum over priorities
  uint64_t peak_bytes = 0;  // most in one of its queues; 0: nobody told
  uint64_t errors = 0;      // frames that arrived broken at the other end

  friend bool operator==(const LinkLoad&, const LinkLoad&) = default;
};

struct LinkLoads {
  // The window; none if nothing was seen or read yet.
  std::optional<Timestamp> from;
  Duration window{};
  std::vector<LinkLoad> loads;  // ascending; of those that anything is known of
};

// Of the last window that nine of ten of the ports that tell counters are read in all of; without
// counters, the last one that is over where flows were seen.
LinkLoads LinkLoadsOf(const topology::Fabric& fabric, const MetricStore& metrics,
                      const FlowPaths& paths);

}  // namespace rocescope
