// SPDX-License-Identifier: BSD-3-Clause
// The figures of the tables about faults as a message, for JSON.
#pragma once

#include <span>

#include "appliance/cli/score/finding_figures.h"

namespace rocescope {

namespace v1 {
class ScoreSummary;
}

// One group for each profile and view about faults, in the order of the tables.
void Summarise(std::span<const v1::Score> scores, const KindWeights& weights,
               v1::ScoreSummary& summary);

}  // namespace rocescope
