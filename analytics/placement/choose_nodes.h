// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: chooses the best set of nodes among the suitable ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/placement/placement.h"

namespace rocescope {

// The number of nodes or GPUs that a node offers to the job.
struct Offer {
  const NodeRank* rank = nullptr;
  uint32_t amount = 0;
};

struct NodeChoice {
  std::vector<topology::NodeIndex> nodes;  // ascending; empty: no possible choice
  PlacementDistance distance = PlacementDistance::kNone;
  double score = 0;
};

// Chooses enough offers for `need`, all connected with each other. The value of a choice is the
// score of its worst node for the parts of the fabric that the job would use (within its leaves,
// above them, above its pod), multiplied by the factor for its distance (kWorthOf). Among choices
// of equal value, the closer one is preferred, then the one that uses the fewest groups and leaves
// the least capacity over, so that whole groups remain available for large jobs.
NodeChoice ChooseNodes(const topology::LeafGroups& groups, std::span<const Offer> offers,
                       uint64_t need);

}  // namespace rocescope
