// SPDX-License-Identifier: BSD-3-Clause
// Windows in which counters of several entities, added up and taken from each other, mean
// something.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "analytics/diagnosis/scene.h"

namespace rocescope {

// By window. All that holds of counters that are read at the same moments, each window.
struct SumWindows {
  // How much each grew is known: none of its entity's counters began anew in it or showed what
  // cannot be, and all were there from its beginning.
  std::vector<bool> known;
  // All were read at its end, or all in the middle of the same longer step.
  std::vector<bool> read;
};

using Counter = std::pair<Entity, Metric>;

SumWindows SumWindowsOf(const Scene& scene, std::span<const Counter> counters);

}  // namespace rocescope
