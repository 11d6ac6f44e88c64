// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "topology/fabric.h"

namespace rocescope::topology {

// Returns the NIC that a GPU uses: the one that the topology declares, otherwise the first one of
// its rail on the same host; kNone: there is neither.
NicIndex NicNear(const Fabric& fabric, GpuIndex gpu);

}  // namespace rocescope::topology
