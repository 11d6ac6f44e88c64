// SPDX-License-Identifier: BSD-3-Clause
// Valley routes. Up-down routing has no cyclic buffer dependency. Switches that send frames up
// again after they came down create one, as local rerouting around failed links does (Hu et al.,
// Tagger, CoNEXT 2017).
#pragma once

#include <array>
#include <vector>

#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// Two lower switches A and B and two upper switches S and T, with links between all four pairs. S
// sends packets for some edge switches down to B, which sends them up to T; T has the correct
// route. T sends packets for some other edge switches down to A, which sends them up to S. A's
// queue to S therefore waits for S's queue to B, which waits for B's queue to T, which waits for
// T's queue to A, which waits for A's queue to S.
struct ValleyLoop {
  struct Detour {
    topology::NodeIndex at = topology::kNone;
    topology::NodeIndex edge = topology::kNone;  // edge switch of the affected destinations
    topology::PortIndex out = topology::kNone;
  };
  std::array<topology::PortIndex, 4> ports;  // sending ports of A, S, B and T, in this order
  std::vector<Detour> detours;
};

// Returns the loop with A and S at the ends of `link`. kInvalidArgument: there is no such loop, for
// the reason in the message; it needs two more edge switches below both S and T.
Result<ValleyLoop> FindValleyLoop(const topology::Fabric& fabric, topology::LinkIndex link);

}  // namespace rocescope::sim
