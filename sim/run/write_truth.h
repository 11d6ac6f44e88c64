// SPDX-License-Identifier: BSD-3-Clause
// Writes truth.json; see truth.proto.
#pragma once

#include <string>

#include "rocescope/v1/truth.pb.h"

namespace rocescope::sim {

class Simulation;

// The truth of a complete run. The victims of its faults are unknown; victims.h finds them.
v1::Truth TruthOf(Simulation& simulation);
std::string RenderTruth(const v1::Truth& truth);
inline std::string RenderTruth(Simulation& simulation) { return RenderTruth(TruthOf(simulation)); }

}  // namespace rocescope::sim
