// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "analytics/engine/snapshot.h"
#include "base/time.h"

namespace rocescope {

// Prints the result of a replay as an HTML page to standard output; `reached` is the end of the
// input. Returns an ExitCode.
int PrintReplayPage(std::shared_ptr<const Snapshot> snapshot, Duration window, Timestamp reached);

}  // namespace rocescope
