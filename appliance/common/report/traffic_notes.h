// SPDX-License-Identifier: BSD-3-Clause
// Sentences about how far the taps agreed.
#pragma once

#include <string>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "dataplane/pipeline/tap_table.h"

namespace rocescope {

std::vector<std::string> NotesOnTraffic(const Snapshot& snapshot, const std::vector<Tap>& taps);

}  // namespace rocescope
