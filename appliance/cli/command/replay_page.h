// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "analytics/engine/snapshot.h"
#include "base/time.h"

namespace rocescope {

// Prints what a replay found out, as a page, to standard output; `reached` is the input's last
// moment. Returns an ExitCode.
int PrintReplayPage(std::shared_ptr<const Snapshot> snapshot, Duration window, Timestamp reached);

}  // namespace rocescope
