// SPDX-License-Identifier: BSD-3-Clause
// Counters of NICs that increase when data packets are lost anywhere on their paths. Lost CNPs
// change none of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"

namespace rocescope {

inline constexpr std::array kLossSigns = {Metric::kOutOfSequence, Metric::kPacketSequenceError,
                                          Metric::kLocalAckTimeout, Metric::kImpliedNak};

// The increase of a counter of all NICs together in each window; empty if no NIC reports it.
Row GrowthOfAllNics(const DiagnosisInput& input, Metric metric);

// The start of the window between two times in which NICs began to count lost data; `from` if they
// counted none.
Timestamp FirstSignOfLoss(const DiagnosisInput& input, Timestamp from, Timestamp until);

// The signs that NICs have counted since a window; unset if no NIC counts any.
std::optional<uint64_t> SignsOfLostData(const DiagnosisInput& input, size_t from);

// A loss of data frames that the counters of ports show.
struct CountedLoss {
  uint64_t frames = 0;
  Timestamp from;
  Timestamp last;          // when it showed last
  bool is_steady = false;  // in many windows, so that more than single bursts were lost
};

// Lowers the confidence in the loss, and says why, if the NICs behind its place contradict it: that
// of a host's link, and those of a leaf for its other links.
void DoubtLoss(const DiagnosisInput& input, const CountedLoss& loss, Finding& finding);

}  // namespace rocescope
