// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analytics/cabling/cabling.h"

namespace rocescope {

// Whether cables are swapped, even if the other end of some of them is unknown: packets took a
// cable between the ends of two declared links, and none took the links as declared. Counters alone
// may fit a wrong link by chance. The detector `cables` reports each swap.
bool IsSwap(const CableFinding& cable);

}  // namespace rocescope
