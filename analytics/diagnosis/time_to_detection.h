// SPDX-License-Identifier: BSD-3-Clause
// The least duration of a fault that a detector needs. Each detector states it next to the code
// that decides, from the same constants and thresholds.
#pragma once

#include <cstdint>
#include <string>

namespace rocescope {

struct TimeToDetection {
  // Analysis windows in which the fault has to show. If counters are read less often than once per
  // window, polling periods instead.
  uint32_t windows = 1;
  std::string signs;  // what has to show in them, without a full stop
};

}  // namespace rocescope
