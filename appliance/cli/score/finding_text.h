// SPDX-License-Identifier: BSD-3-Clause
// The tables about faults of `rocescope score`.
#pragma once

#include <span>
#include <string>

#include "appliance/cli/score/finding_figures.h"

namespace rocescope {

struct FindingTables {
  std::string text;      // empty: no view for faults was scored
  bool all_hold = true;  // all figures with at least one count meet their goals
};

// For each view for faults: its figures, counts by type, the confusion matrix, baselines, and all
// misses by scenario.
FindingTables RenderFindings(std::span<const v1::Score> scores, const KindWeights& weights);

}  // namespace rocescope
