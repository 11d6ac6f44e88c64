// SPDX-License-Identifier: BSD-3-Clause
// Writes truth.json; see truth.proto.
#pragma once

#include <string>
#include <string_view>

#include "rocescope/v1/truth.pb.h"

namespace rocescope::sim {

class Simulation;
struct Outcome;

// The truth of a complete run of the packet model, or of any model with its outcome. The victims
// of its faults are unknown; victims.h finds them. A run has tens of thousands of connections: if
// `connections` is given, it receives them as JSON instead, which takes a quarter of the memory.
v1::Truth TruthOf(Simulation& simulation);
v1::Truth TruthOf(Simulation& simulation, const Outcome& outcome,
                  std::string* connections = nullptr);

// `connections`: from TruthOf.
std::string RenderTruth(const v1::Truth& truth, std::string_view connections = {});
inline std::string RenderTruth(Simulation& simulation) { return RenderTruth(TruthOf(simulation)); }

}  // namespace rocescope::sim
