// SPDX-License-Identifier: BSD-3-Clause
// Clock errors of switches relative to the collector's wall clock.
#pragma once

#include <vector>

#include "base/time.h"
#include "sim/engine/random.h"
#include "sim/engine/time.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// Indexed by node. The clock of a switch is up to `most` ahead or behind; other nodes have no
// error. Mirrors and INT of a switch share its clock.
inline std::vector<Duration> ClockErrors(const topology::Fabric& fabric, SimTime most,
                                         uint64_t seed) {
  std::vector<Duration> errors(fabric.nodes().size());
  for (topology::NodeIndex node = 0; node < errors.size(); ++node) {
    if (!fabric.node(node).IsSwitch() || most <= 0) continue;
    const double share = 2 * Random(seed, "clock", node).Uniform() - 1;
    errors[node] = Duration(static_cast<int64_t>(share * static_cast<double>(most / kNanosecond)));
  }
  return errors;
}

}  // namespace rocescope::sim
