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

// Confidence in a loss that the counters of the NICs contradict.
inline constexpr double kContradicted = 0.3;

// A loss of data frames that the counters of ports show.
struct CountedLoss {
  uint64_t frames = 0;
  Timestamp from;
  Timestamp last;  // when it showed last
};

// Returns the signs that NICs counted since the loss began if they are too few for its size; those
// of the whole time if it began before the stored windows. The counters that show the loss are then
// probably wrong. Unset: no contradiction, or not all active NICs reported signs until its end.
std::optional<uint64_t> SignsThatContradict(const DiagnosisInput& input, const CountedLoss& loss);

// Lowers the confidence in the loss, and says why, if the NICs contradict it.
void DoubtLoss(const DiagnosisInput& input, const CountedLoss& loss, Finding& finding);

}  // namespace rocescope
