// SPDX-License-Identifier: BSD-3-Clause
// Which findings count as suspicions. Internal to this folder.
#pragma once

#include "rocescope/v1/report.pb.h"

namespace rocescope {

// Below this confidence, a finding states that it is more likely wrong than right. An operator acts
// on findings, and looks at suspicions only when there is time. The report lists them apart.
inline constexpr double kLeastConfidence = 0.5;

// A greater number of suspicions would no longer be read.
inline constexpr double kMostSuspicionsPerDay = 5;

inline bool IsSuspicion(const v1::Finding& finding) {
  return !(finding.confidence() >= kLeastConfidence);
}

}  // namespace rocescope
