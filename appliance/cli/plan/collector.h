// SPDX-License-Identifier: BSD-3-Clause
// Where the appliance's ports are, as a command line says it.
#pragma once

#include <string_view>

#include "appliance/cli/plan/options.h"
#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::plan {

// "ens1f0=100G@leaf0:Ethernet33,172.31.0.1": the appliance's interface (or PCI address), the
// cable's speed, the switch and its port, the interface's address.
Result<Collector> ParseCollector(std::string_view text);

// Whether the fabric has the switch, and nothing else on the port; whether names and addresses are
// those of one collector each.
Status CheckCollectors(const topology::Fabric& fabric, const std::vector<Collector>& collectors);

}  // namespace rocescope::plan
