// SPDX-License-Identifier: BSD-3-Clause
// The least duration of a fault that a detector can detect. Each detector computes it next to the
// detection itself, from the same constants and thresholds.
#pragma once

#include <cstdint>
#include <string>

namespace rocescope {

struct TimeToDetection {
  // Analysis windows in which the fault has to show, or polling periods if counters are read less
  // often than once per window.
  uint32_t windows = 1;
  uint32_t interpolated_windows = 0;  // if counters are not read at window ends; 0: as many
  // Windows at the start of the data in which no fault is detected.
  uint32_t warm_up_windows = 0;
  std::string signs;  // what the telemetry has to show in these windows; without a full stop
};

}  // namespace rocescope
