// SPDX-License-Identifier: BSD-3-Clause
// Which queues set the marks that flows carry, by where on their ways the marks first show.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/congestion/mark_tracker.h"
#include "analytics/connection/connection.h"
#include "analytics/path/path.h"
#include "topology/fabric.h"

namespace rocescope {

// An egress queue in one window.
struct MarkedQueue {
  topology::PortIndex port = topology::kNone;
  int64_t window = 0;
  // Packets that got their mark there; where only notifications tell of it, at least so many.
  double marks = 0;
  bool inferred = false;  // none of it was seen right before and right behind the queue

  friend bool operator==(const MarkedQueue&, const MarkedQueue&) = default;
};

// By port and window. Between two sights that follow each other on a flow's way there is one queue,
// and what is marked at the second and not at the first was marked in it. Where several queues lie
// between them, or behind the last sight of a flow whose receiver sends notifications, the marks
// are shared out by tomography: each queue marks at one rate whatever passes it, and the rates that
// make what was seen the likeliest are taken (expectation maximisation for Poisson counts: Shepp
// and Vardi, 1982). NICs set no marks. Flows whose way is not known do not count.
//
// Takes the time of marked flows' sights, and where marks have to be shared out that of all paths.
std::vector<MarkedQueue> MarkedQueues(const MarkTracker& marks, const FlowPaths& paths,
                                      const ConnectionList& connections,
                                      const topology::Fabric& fabric);

}  // namespace rocescope
