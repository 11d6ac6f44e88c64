// SPDX-License-Identifier: BSD-3-Clause
// Which hosts are near each other: those whose NICs go to the same leaves, groups of these that
// reach each other below the cores, and parts that reach each other at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

// Hosts that are plugged into the same set of leaves: one leaf of a rack, or one for each rail of a
// rail-optimised group.
struct LeafGroup {
  std::vector<NodeIndex> leaves;  // ascending
  std::vector<NodeIndex> hosts;   // likewise
  uint32_t pod = 0;               // index into LeafGroups::part_of_pod
};

struct LeafGroups {
  std::vector<LeafGroup> groups;   // in the order of their first hosts
  std::vector<uint32_t> group_of;  // by node: of hosts; kNone: it is a switch, or not plugged in
  std::vector<uint32_t>
      part_of_pod;  // which pods hang together, by their cores; parts count from 0
  uint32_t parts = 0;
};

// Takes the time of all ports and links.
LeafGroups LeafGroupsOf(const Fabric& fabric);

// "leaf3", or "leaf[0-7]" of several.
std::string NameOf(const Fabric& fabric, const LeafGroup& group);

}  // namespace rocescope::topology
