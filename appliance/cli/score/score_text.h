// SPDX-License-Identifier: BSD-3-Clause
// The tables of `rocescope score`.
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

// Returns one sentence for each goal that the counts miss.
std::vector<std::string> MissedBars(const v1::ViewScore& score, bool three_tiers);

struct ScoreTable {
  std::string text;
  bool all_hold = true;       // all measured figures meet their goals
  bool is_calibrated = true;  // no bin with enough answers misses (calibration.h)
  bool has_goals = false;     // at least one measured figure has a goal
  bool is_judged = false;     // at least one bin has enough answers to judge the calibration
};

// Prints one or more runs: a row for each view, missed goals, the calibration of confidences,
// and the tables about faults. `weights` are those of fault types, if known.
ScoreTable RenderScores(std::span<const v1::Score> scores, const KindWeights& weights = {});

}  // namespace rocescope
