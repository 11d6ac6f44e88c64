// SPDX-License-Identifier: BSD-3-Clause
// Queues in which congestion notifications should be and are not: a switch that gives them a class
// of their own has something in its queue whenever some pass.
#pragma once

#include <cstdint>
#include <map>

#include "analytics/diagnosis/doubt.h"
#include "analytics/diagnosis/scene.h"
#include "topology/fabric.h"

namespace rocescope {

struct EmptyQueue {
  uint8_t priority = 0;
  DoubtRun run;          // has a verdict
  uint32_t notices = 0;  // that passed the switch meanwhile, and were followed to the next
};

// By switch. A priority is that of notifications where others, or the switch before, had something
// in its queues whenever some passed; how often they had not is what is chance.
std::map<topology::NodeIndex, EmptyQueue> EmptyNoticeQueues(const Scene& scene);

}  // namespace rocescope
