// SPDX-License-Identifier: BSD-3-Clause
// Of nodes that suit, those that a job had best get. Internal to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/placement/placement.h"

namespace rocescope {

// Nodes, or GPUs, that a node has for the job.
struct Offer {
  const NodeRank* rank = nullptr;
  uint32_t amount = 0;
};

struct NodeChoice {
  std::vector<topology::NodeIndex> nodes;  // ascending; empty: there is no such choice
  PlacementDistance distance = PlacementDistance::kNone;
  double score = 0;
};

// Enough offers for `need`, all within reach of each other. The value of a choice is the score of
// its worst node, for what the job would use: within its leaves, above them, above its pod; times
// what nearness is worth (kWorthOf). Of choices of one value the nearer is taken, then the one that
// takes the fewest groups and leaves the least over, so that large jobs find whole groups later.
NodeChoice ChooseNodes(const topology::LeafGroups& groups, std::span<const Offer> offers,
                       uint64_t need);

}  // namespace rocescope
