// SPDX-License-Identifier: BSD-3-Clause
// Which findings count as suspicions. Internal to this folder.
#pragma once

#include "analytics/diagnosis/finding.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

// A greater number of suspicions would no longer be read.
inline constexpr double kMostSuspicionsPerDay = 5;

inline bool IsSuspicion(const v1::Finding& finding) {
  return !(finding.confidence() >= kLeastConfidence);
}

}  // namespace rocescope
