// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/score_groups.h"

#include <algorithm>

namespace rocescope {

std::vector<ScoreGroup> GroupByProfile(std::span<const v1::Score> scores) {
  std::vector<ScoreGroup> groups;
  for (const v1::Score& score : scores) {
    auto at = std::ranges::find(groups, score.profile(), &ScoreGroup::profile);
    if (at == groups.end()) {
      at = groups.insert(groups.end(), {.profile = score.profile(), .scores = {}});
    }
    at->scores.push_back(score);
  }
  return groups;
}

}  // namespace rocescope
