// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analytics/path/path.h"

namespace rocescope {

// Whether switches spread the packets of each flow over several links (packet spraying or adaptive
// routing). Then a retransmitted packet takes another path than its first copy, so that delays
// cannot be measured between taps, and no flow has a link of its own.
bool IsSpraying(const FlowPaths& paths);

}  // namespace rocescope
