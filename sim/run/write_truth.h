// SPDX-License-Identifier: BSD-3-Clause
// Writes truth.json; see truth.proto.
#pragma once

#include <string>

namespace rocescope::sim {

class Simulation;

std::string RenderTruth(Simulation& simulation);

}  // namespace rocescope::sim
