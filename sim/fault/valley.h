// SPDX-License-Identifier: BSD-3-Clause
// Routes with a valley. Up-down routing has no cyclic buffer dependency; switches that bounce
// frames up again make one, as local rerouting around failed links does (Hu et al., Tagger, CoNEXT
// 2017).
#pragma once

#include <array>
#include <vector>

#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// Two lower switches A and B, two upper ones S and T, all four pairs cabled. S sends what is for
// some edge switches down to B, which sends it up to T, which knows the way; T sends what is for
// some others down to A, which sends it up to S. So what A queues for S waits for room that S has
// once its queue to B moves, that waits for B's queue to T, that for T's to A, that for A's to S.
struct ValleyLoop {
  struct Detour {
    topology::NodeIndex at = topology::kNone;
    topology::NodeIndex edge = topology::kNone;  // the edge switch of the destinations
    topology::PortIndex out = topology::kNone;
  };
  std::array<topology::PortIndex, 4> ports;  // that send, in the loop's order: A's, S's, B's, T's
  std::vector<Detour> detours;
};

// With A and S at the ends of `link`. kInvalidArgument, with what is missing, if there is no such
// loop: it takes two more edge switches that both S and T reach by going down.
Result<ValleyLoop> FindValleyLoop(const topology::Fabric& fabric, topology::LinkIndex link);

}  // namespace rocescope::sim
