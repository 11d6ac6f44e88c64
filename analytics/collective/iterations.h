// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: where iterations begin. All that is in step begins one together, after
// the longest quiet of each period.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analytics/collective/bits.h"

namespace rocescope {

struct Iterations {
  // Stretches of the time line at which one begins; the last one is the end of the one before.
  std::vector<double> begins;
  std::vector<double> quiet;  // before each
  // Begins that were seen; others are put where the period lets expect them.
  uint32_t seen = 0;

  bool empty() const { return begins.size() < 2; }
  size_t count() const { return empty() ? 0 : begins.size() - 1; }
  // Stretches from one to the next, by those that were seen.
  double period = 0;
};

Iterations FindIterations(const Bits& active, size_t length, double period);

// When iteration k is to be looked at for what belongs to it: whoever enters early does so in the
// quiet before.
double WindowOf(const Iterations& iterations, size_t k);

// An iteration is not over before everybody took part who mostly does: where one is late, the
// others begin without it and then wait. `members`: what each does of its own accord.
void JoinUnfinished(std::span<const Bits* const> members, Iterations& iterations);

}  // namespace rocescope
