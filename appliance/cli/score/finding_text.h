// SPDX-License-Identifier: BSD-3-Clause
// The tables about faults of `rocescope score`.
#pragma once

#include <span>
#include <string>

#include "appliance/cli/score/finding_figures.h"
#include "appliance/cli/score/score_groups.h"

namespace rocescope {

struct FindingTables {
  std::string text;  // empty: no view for faults was scored
  // All figures with at least one count meet their goals, and no detector has clearly more false
  // findings than it states.
  bool all_hold = true;
  bool has_goals = false;  // at least one of these figures has a goal
};

// For each view for faults: its figures, counts by type and by number of faults, the events that
// false findings coincide with, the rates of false findings by detector, the confusion matrix,
// baselines, and all misses by scenario.
// `scores` have the same telemetry profile.
FindingTables RenderFindings(std::span<const v1::Score> scores, const KindWeights& weights);

// One row for each profile and view for faults. Empty without a profile.
std::string RenderProfiles(std::span<const ScoreGroup> groups);

}  // namespace rocescope
