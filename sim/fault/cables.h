// SPDX-License-Identifier: BSD-3-Clause
// A fabric that is cabled otherwise than its operator believes.
#pragma once

#include <array>

#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// The fabric with the cables of these two ports in each other's place: each port's link ends where
// the other's did. Nothing else differs, and all indexes hold: a link's is that of the port which
// is named. kInvalidArgument: they are one link, differ in speed, or would end on one node.
Result<topology::Fabric> SwapCables(const topology::Fabric& fabric,
                                    const std::array<topology::PortIndex, 2>& ports);

}  // namespace rocescope::sim
