// SPDX-License-Identifier: BSD-3-Clause
// Notes about contradictions between taps.
#pragma once

#include <string>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "dataplane/pipeline/tap_table.h"

namespace rocescope {

std::vector<std::string> NotesOnTraffic(const Snapshot& snapshot, const std::vector<Tap>& taps);

}  // namespace rocescope
