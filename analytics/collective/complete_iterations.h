// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: start times of iterations by what an iteration consists of. An iteration
// is complete when all channels of a synchronised group were used, and about as much as in the
// other iterations. Its duration does not matter, so that stalls, evaluations and checkpoints
// neither hide an iteration nor add one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analytics/collective/bits.h"
#include "analytics/collective/iterations.h"
#include "analytics/collective/period.h"

namespace rocescope {

// `active` is the activity of all `channels` together. `candidates` are lags at which the channels
// repeat, and `usual` is the strongest of them. Returns nothing if no candidate explains the
// activity.
std::optional<Iterations> FindCompleteIterations(const Bits& active,
                                                 std::span<const Bits* const> channels,
                                                 size_t length, std::span<const Period> candidates,
                                                 double usual);

}  // namespace rocescope
