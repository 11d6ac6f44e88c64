// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: start times of iterations by the channels that start to send together.
// An iteration starts when most channels of such a set have started to send again, and when the
// previous iteration has sent about as much as usual. Channels that a fault delays, retransmissions
// and other traffic therefore neither add an iteration nor hide one, and a stall between two steps
// of an iteration is not taken for a start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "analytics/collective/bits.h"
#include "analytics/collective/iterations.h"
#include "analytics/collective/period.h"

namespace rocescope {

struct ClockChannel {
  uint32_t source = 0;
  uint32_t destination = 0;
  const Bits* bits = nullptr;
};

// `candidates` are lags at which the channels repeat. The usual times between starts of the same
// channel are candidates, too. Returns nothing if no candidate explains the activity.
std::optional<Iterations> FindIterationsByOnsets(std::span<const ClockChannel> channels,
                                                 size_t length, std::span<const Period> candidates);

}  // namespace rocescope
