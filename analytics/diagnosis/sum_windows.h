// SPDX-License-Identifier: BSD-3-Clause
// Windows in which sums and differences of counters of several entities are valid.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"

namespace rocescope {

// Sums of counters for each window. The counters must be read at the same times.
struct SumWindows {
  // The increase of each counter is known: no counter of its entity restarted or had an impossible
  // value in the window, and all of them existed at the start of the window.
  std::vector<bool> known;
  // All counters were read at the end of the window, or none was because all missed that reading.
  std::vector<bool> read;
};

using Counter = std::pair<Entity, Metric>;

SumWindows SumWindowsOf(const DiagnosisInput& input, std::span<const Counter> counters);

}  // namespace rocescope
