// SPDX-License-Identifier: BSD-3-Clause
// Writes truth.json; see truth.proto.
#pragma once

#include <string>

#include "rocescope/v1/truth.pb.h"

namespace rocescope::sim {

class Simulation;
struct Outcome;

// The truth of a complete run of the packet model, or of any model with its outcome. The victims of
// its faults are unknown; victims.h finds them.
v1::Truth TruthOf(Simulation& simulation);
v1::Truth TruthOf(Simulation& simulation, const Outcome& outcome);
std::string RenderTruth(const v1::Truth& truth);
inline std::string RenderTruth(Simulation& simulation) { return RenderTruth(TruthOf(simulation)); }

}  // namespace rocescope::sim
