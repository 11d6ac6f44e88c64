// SPDX-License-Identifier: BSD-3-Clause
// Groups hosts by proximity: hosts with the same leaves form a group, groups connected below the
// cores form a pod, and pods that are connected form a part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

// Hosts connected to the same set of leaves: one leaf of a rack, or one for each rail of a
// rail-optimised group.
struct LeafGroup {
  std::vector<NodeIndex> leaves;  // ascending
  std::vector<NodeIndex> hosts;   // ascending
  uint32_t pod = 0;               // index into LeafGroups::part_of_pod
};

struct LeafGroups {
  std::vector<LeafGroup> groups;  // in the order of their first hosts
  // By node: the group of a host; kNone for a switch or an unconnected host.
  std::vector<uint32_t> group_of;
  std::vector<uint32_t>
      // For each pod: its part, that is, the set of pods connected through cores; numbered from 0.
      part_of_pod;
  uint32_t parts = 0;
};

// The run time is linear in the number of ports and links.
LeafGroups LeafGroupsOf(const Fabric& fabric);

// Returns "leaf3", or "leaf[0-7]" for several leaves.
std::string NameOf(const Fabric& fabric, const LeafGroup& group);

}  // namespace rocescope::topology
