// SPDX-License-Identifier: BSD-3-Clause
// Counters of NICs that grow when data packets are lost anywhere on their paths. Lost CNPs change
// none of them.
#pragma once

#include <array>

#include "analytics/diagnosis/diagnosis_input.h"

namespace rocescope {

inline constexpr std::array kLossSigns = {Metric::kOutOfSequence, Metric::kPacketSequenceError,
                                          Metric::kLocalAckTimeout, Metric::kImpliedNak};

// The increase of a counter of all NICs together in each window; empty if no NIC reports it.
Row GrowthOfAllNics(const DiagnosisInput& input, Metric metric);

// The start of the window between two times in which NICs began to count lost data; `from` if they
// counted none.
Timestamp FirstSignOfLoss(const DiagnosisInput& input, Timestamp from, Timestamp until);

}  // namespace rocescope
