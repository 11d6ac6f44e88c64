// SPDX-License-Identifier: BSD-3-Clause
// The tables that `rocescope score` prints.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "appliance/cli/score/finding_figures.h"

namespace rocescope {

namespace v1 {
class Score;
class ViewScore;
}  // namespace v1

// A sentence for each bar that the counts miss.
std::vector<std::string> MissedBars(const v1::ViewScore& score, bool three_tiers);

struct ScoreTable {
  std::string text;
  bool all_hold = true;       // every bar for which anything was measured
  bool is_calibrated = true;  // no bin of enough answers misses (calibration.h)
};

// Of one run or of many: a row for each view, the bars that were missed, how far stated confidence
// was right, and the tables about faults. `weights` are those of kinds of faults, if known.
ScoreTable RenderScores(std::span<const v1::Score> scores, const KindWeights& weights = {});

}  // namespace rocescope
