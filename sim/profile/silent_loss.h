// SPDX-License-Identifier: BSD-3-Clause
// Finds the counters that can show the silent losses of a run.
#pragma once

#include <span>
#include <vector>

#include "sim/profile/detection_limit.h"
#include "sim/recording/exact_counters.h"
#include "topology/fabric.h"

namespace rocescope::v1 {
class Truth;
}

namespace rocescope::sim {

// One direction of a link, or a switch, that loses frames without counting them.
struct SilentLoss {
  int fault = 0;  // index in Truth.faults
  LossWatch watch;
};

// A link fault without direction has one element for each direction.
std::vector<SilentLoss> FindSilentLosses(const v1::Truth& truth, const topology::Fabric& fabric,
                                         ExactCounters& exact);

}  // namespace rocescope::sim
