// SPDX-License-Identifier: BSD-3-Clause
// Whose packets fill a queue.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/congestion/hotspot.h"
#include "analytics/path/path.h"

namespace rocescope {

struct Culprit {
  FlowKey flow;
  uint64_t bytes = 0;  // on the wire, through the queue while it was hot; see CulpritsOf
  double share = 0;    // of all flows' there: 0 to 1

  friend bool operator==(const Culprit&, const Culprit&) = default;
};

struct Congestion {
  std::vector<Hotspot> hotspots;               // by port, priority, time
  std::vector<std::vector<Culprit>> culprits;  // of each of them
};

// Of each hotspot, as `hotspots` has them: the fewest flows that together hold four fifths of what
// went through its queue, the largest first. A flow's octets are taken to lie evenly over the time
// for which it took a way; ways that are not certain at the port do not count.
std::vector<std::vector<Culprit>> CulpritsOf(std::span<const Hotspot> hotspots,
                                             const FlowPaths& paths);

}  // namespace rocescope
