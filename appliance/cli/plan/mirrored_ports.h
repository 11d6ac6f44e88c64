// SPDX-License-Identifier: BSD-3-Clause
// The ports that a choice mirrors.
#pragma once

#include <vector>

#include "appliance/cli/plan/options.h"
#include "topology/fabric.h"

namespace rocescope::plan {

struct MirroredSwitch {
  topology::NodeIndex node = topology::kNone;
  topology::TapDirection direction = topology::TapDirection::kIngress;
  std::vector<topology::PortIndex> ports;
};

// Switches with ports to NICs, in their order.
std::vector<topology::NodeIndex> LeavesOf(const topology::Fabric& fabric);
// Ports of a switch with links to hosts, or to switches of a higher tier.
std::vector<topology::PortIndex> NicPortsOf(const topology::Fabric& fabric,
                                            topology::NodeIndex node);
std::vector<topology::PortIndex> UplinksOf(const topology::Fabric& fabric,
                                           topology::NodeIndex node);

// The part of the fabric that kSomeNics mirrors.
struct Part {
  size_t ports = 0;   // the first ports of each leaf
  size_t leaves = 0;  // the first leaves
};

// For kSomeNics, the first ports of each leaf: if hosts are cabled in order, they are the same
// hosts on all leaves, so that their traffic is observed completely. For kUplinks, no port of a
// switch with a collector: copies of other switches arrive there and would be mirrored again.
std::vector<MirroredSwitch> MirroredPorts(const topology::Fabric& fabric,
                                          const PlanOptions& options, MirrorChoice choice,
                                          Part part);

}  // namespace rocescope::plan
