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

inline constexpr uint64_t kLongestCnp = 128;  // bytes, with all headers and tags

struct EmptyQueue {
  uint8_t priority = 0;
  DoubtRun run;  // beyond chance
  // CNPs that passed the switch in these windows and were matched at the next switch.
  uint32_t cnps = 0;
};

// Returns an entry for each switch whose CNP queues were empty although CNPs passed. A priority is
// taken to carry CNPs if other switches, or this one earlier, had packets queued in it when CNPs
// passed. The share of their windows with CNPs and empty queues is the probability that one empty
// window is due to chance.
std::map<topology::NodeIndex, EmptyQueue> EmptyCnpQueues(const DiagnosisInput& input);

}  // namespace rocescope
