// SPDX-License-Identifier: BSD-3-Clause
// The benign events of a complete run, for the truth.
#pragma once

#include <vector>

#include "sim/benign/benign.h"

namespace rocescope::sim {

class Simulation;
struct Outcome;

std::vector<BenignEvent> BenignEventsOf(const Simulation& simulation,
                                        const Outcome& outcome);  // by start time

}  // namespace rocescope::sim
