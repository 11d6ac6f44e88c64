// SPDX-License-Identifier: BSD-3-Clause
// What clocks outside of the simulation say. A run may be told slower than it happened: all times
// longer and all speeds lower by one factor, which is the same run in a slower fabric, as nothing
// else in it has seconds in its unit.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/engine/time.h"

namespace rocescope::sim {

struct WallClock {
  Timestamp epoch;  // when the run began
  uint32_t dilation = 1;

  Timestamp At(SimTime now) const { return epoch + Length(now); }
  Duration Length(SimTime length) const {
    return Duration(length / kNanosecond * dilation +
                    length % kNanosecond * dilation / kNanosecond);
  }
  uint64_t Speed(uint64_t bits_per_second) const { return bits_per_second / dilation; }
};

}  // namespace rocescope::sim
