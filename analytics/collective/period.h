// SPDX-License-Identifier: BSD-3-Clause
// The period with which something repeats: by autocorrelation over all series at once, so that two
// phases of an iteration that look alike from afar but use different queue pairs do not halve it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analytics/collective/bits.h"

namespace rocescope {

struct Period {
  double intervals = 0;  // of the time line
  double strength = 0;   // 0 to 1: mean correlation over the multiples that were seen
};

// Of series that are `length` stretches long. Nothing if there are fewer than three repetitions, or
// none that is clear.
std::optional<Period> FindPeriod(std::span<const Bits* const> series, size_t length);

// How well one series repeats with this period, or nearly this: mean correlation over its first few
// multiples, short bursts being made a little longer.
double StrengthAt(const Bits& series, size_t length, double period);

}  // namespace rocescope
