// SPDX-License-Identifier: BSD-3-Clause
// Determines which queues set the CE marks of flows from where on their paths the marks first
// appear.
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
  // Packets marked in this queue. Where only CNPs show it, this is a lower bound.
  double marks = 0;
  bool inferred = false;  // no flow was observed both directly before and directly after the queue

  friend bool operator==(const MarkedQueue&, const MarkedQueue&) = default;
};

// If exactly one queue lies between two consecutive observations on a path, packets that are marked
// at the second but not at the first were marked in it. If several queues are possible, or only
// CNPs from the receiver are observed, marks are distributed by tomography: each queue marks all
// traffic at one rate, and the maximum likelihood rates are used (expectation maximisation for
// Poisson counts: Shepp and Vardi, 1982). NICs set no marks. Flows without a known path are
// ignored.
//
// Takes time linear in the observations of marked flows; where marks must be distributed, linear in
// all paths.
std::vector<MarkedQueue> MarkedQueues(const MarkTracker& marks, const FlowPaths& paths,
                                      const ConnectionList& connections,
                                      const topology::Fabric& fabric);

}  // namespace rocescope
