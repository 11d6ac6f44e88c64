// SPDX-License-Identifier: BSD-3-Clause
// Names of ports in the forms of the vendors' configuration. Topology files often contain
// abbreviations ("Eth1/1", "e1/1"), or names of another platform ("swp1").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/plan/platform.h"
#include "topology/fabric.h"

namespace rocescope::plan {

struct PortName {
  std::string text;      // for the configuration; the given name if it is not valid
  bool is_valid = true;  // whether the platform can have such a port
};

// Converts a name if it denotes only one port of the platform: the letters may be abbreviated
// (except for SONiC), and their case is ignored.
PortName PortNameOf(Vendor vendor, std::string_view given);

// The ports of a switch, in their order. A name that would become the name of another port of the
// switch is not valid.
std::vector<PortName> PortNamesOf(const topology::Fabric& fabric, topology::NodeIndex node,
                                  Vendor vendor);

}  // namespace rocescope::plan
