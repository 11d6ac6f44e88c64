// SPDX-License-Identifier: BSD-3-Clause
// Queues in which CNPs are expected and are missing. A switch with a separate traffic class for
// CNPs has packets in the queue of that class whenever CNPs pass.
#pragma once

#include <cstdint>
#include <map>

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/doubt.h"
#include "topology/fabric.h"

namespace rocescope {

struct EmptyQueue {
  uint8_t priority = 0;
  DoubtRun run;  // beyond chance
  // CNPs that passed the switch in these windows and were matched at the next switch.
  uint32_t cnps = 0;
};

// For each switch. The CNP priority is one in which other switches, or this one before, had packets
// queued whenever CNPs passed. How often its queues were empty then gives the chance level.
std::map<topology::NodeIndex, EmptyQueue> EmptyCnpQueues(const DiagnosisInput& input);

}  // namespace rocescope
