// SPDX-License-Identifier: BSD-3-Clause
// The tables about faults that `rocescope score` prints.
#pragma once

#include <span>
#include <string>

#include "appliance/cli/score/finding_figures.h"

namespace rocescope {

struct FindingTables {
  std::string text;      // empty: no view about faults was scored
  bool all_hold = true;  // every bar for which anything was counted
};

// For each view about faults: its bars, counts by kind, which kind was taken for which, baselines,
// and everything that was missed, by scenario.
FindingTables RenderFindings(std::span<const v1::Score> scores, const KindWeights& weights);

}  // namespace rocescope
