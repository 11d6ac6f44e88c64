// SPDX-License-Identifier: BSD-3-Clause
// Finds the period of repeating activity by autocorrelation over all series at once. Two phases of
// an iteration that look alike but use different queue pairs therefore do not halve the period.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "analytics/collective/bits.h"

namespace rocescope {

struct Period {
  double intervals = 0;  // slots of the time line
  double strength = 0;   // 0 to 1: mean correlation over the observed multiples
};

struct Periods {
  // All lags at which the series repeat, ascending: the period, its multiples, and repetitions
  // within an iteration.
  std::vector<Period> all;
  std::optional<Period> best;  // as FindPeriod
};
Periods FindPeriods(std::span<const Bits* const> series, size_t length);

// The series are `length` slots long. Returns nothing with fewer than three repetitions or without
// a clear period.
std::optional<Period> FindPeriod(std::span<const Bits* const> series, size_t length);

// Returns how well one series repeats with approximately this period: the mean correlation over its
// first few multiples. Short bursts are widened slightly.
double StrengthAt(const Bits& series, size_t length, double period);

}  // namespace rocescope
