// SPDX-License-Identifier: BSD-3-Clause
// Converts simulated time to wall-clock time. A run can be dilated: all times become longer and all
// speeds lower by one factor. The result is the same run on a slower fabric, because only times and
// rates depend on the second.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/engine/time.h"

namespace rocescope::sim {

struct WallClock {
  Timestamp epoch;  // start of the run
  uint32_t dilation = 1;

  Timestamp At(SimTime now) const { return epoch + Length(now); }
  Duration Length(SimTime length) const {
    return Duration(length / kNanosecond * dilation +
                    length % kNanosecond * dilation / kNanosecond);
  }
  uint64_t Speed(uint64_t bits_per_second) const { return bits_per_second / dilation; }
};

}  // namespace rocescope::sim
