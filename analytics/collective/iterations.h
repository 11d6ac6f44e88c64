// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: start times of iterations. A synchronised group starts an iteration
// together, after the longest quiet time of each period.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analytics/collective/bits.h"

namespace rocescope {

struct Iterations {
  // Starts in slots of the time line; the last one is only the end of the last iteration.
  std::vector<double> begins;
  std::vector<double> quiet;  // quiet time before each start
  // Number of observed starts; the others are interpolated with the period.
  uint32_t seen = 0;

  bool empty() const { return begins.size() < 2; }
  size_t count() const { return empty() ? 0 : begins.size() - 1; }
  // Slots per iteration, measured between observed starts.
  double period = 0;
};

Iterations FindIterations(const Bits& active, size_t length, double period);

// Returns the slot from which activity belongs to iteration k. It lies in the quiet time before the
// start, because some members enter early.
double WindowOf(const Iterations& iterations, size_t k);

// Merges incomplete iterations: an iteration is only complete once all members that usually take
// part did so. If one member is late, the others start without it and then wait. `members` is the
// own activity of each member.
void JoinUnfinished(std::span<const Bits* const> members, Iterations& iterations);

}  // namespace rocescope
