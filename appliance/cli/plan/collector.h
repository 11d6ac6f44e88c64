// SPDX-License-Identifier: BSD-3-Clause
// Parses the appliance's ports from the command line.
#pragma once

#include <string_view>

#include "appliance/cli/plan/options.h"
#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::plan {

// Parses "ens1f0=100G@leaf0:Ethernet33,172.31.0.1": the appliance's interface (or PCI address), the
// speed of the link, the switch and its port, and the interface's address.
Result<Collector> ParseCollector(std::string_view text);

// Checks that the switches exist, that their ports are free, and that names and addresses are
// unique.
Status CheckCollectors(const topology::Fabric& fabric, const std::vector<Collector>& collectors);

}  // namespace rocescope::plan
