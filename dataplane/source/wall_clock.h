// SPDX-License-Identifier: BSD-3-Clause
// The system clock.
#pragma once

#include "base/time.h"

namespace rocescope {

inline Timestamp WallClock() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

}  // namespace rocescope
