// SPDX-License-Identifier: BSD-3-Clause
// A fabric whose cables differ from the declared topology.
#pragma once

#include <array>

#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// Returns the fabric with the cables of these two ports exchanged: the link of each port ends where
// the link of the other ended. All indices stay valid; a link keeps the index of the named port.
// kInvalidArgument: both ports are of one link, the links differ in speed, or an exchanged link
// would connect a node with itself.
Result<topology::Fabric> SwapCables(const topology::Fabric& fabric,
                                    const std::array<topology::PortIndex, 2>& ports);

}  // namespace rocescope::sim
