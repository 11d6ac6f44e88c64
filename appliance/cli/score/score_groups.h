// SPDX-License-Identifier: BSD-3-Clause
// Scores by telemetry profile. Figures are never summed over profiles.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rocescope/v1/score.pb.h"

namespace rocescope {

struct ScoreGroup {
  std::string profile;  // empty: runs without a profile
  std::vector<v1::Score> scores;
};

// In the order in which the profiles first occur.
std::vector<ScoreGroup> GroupByProfile(std::span<const v1::Score> scores);

}  // namespace rocescope
