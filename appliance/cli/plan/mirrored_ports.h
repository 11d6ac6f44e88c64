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

// Switches that have ports to NICs, in their order.
std::vector<topology::NodeIndex> LeavesOf(const topology::Fabric& fabric);
// A switch's ports whose links go to hosts, or to switches of a higher tier.
std::vector<topology::PortIndex> NicPortsOf(const topology::Fabric& fabric,
                                            topology::NodeIndex node);
std::vector<topology::PortIndex> UplinksOf(const topology::Fabric& fabric,
                                           topology::NodeIndex node);

// How much of the fabric kSomeNics takes.
struct Part {
  size_t ports = 0;   // of each leaf, the first
  size_t leaves = 0;  // the first
};

// Of kSomeNics, the first ports of each leaf: where hosts are cabled in order these are the same
// hosts everywhere, so that what is seen is seen as a whole. Of kUplinks, no port of a switch
// with a collector: copies from elsewhere come down there, and would be copied again.
std::vector<MirroredSwitch> MirroredPorts(const topology::Fabric& fabric,
                                          const PlanOptions& options, MirrorChoice choice,
                                          Part part);

}  // namespace rocescope::plan
