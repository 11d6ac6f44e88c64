// SPDX-License-Identifier: BSD-3-Clause
// Counters of NICs that grow when data packets are lost anywhere on their paths. Lost CNPs change
// none of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "analytics/diagnosis/diagnosis_input.h"

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

// The signs since a time if they are so few that this many frames of data cannot have been lost:
// the counters that show the loss are probably wrong. Unset: no contradiction, not all active NICs
// count signs, or the time is before the stored windows.
std::optional<uint64_t> SignsThatContradict(const DiagnosisInput& input, uint64_t frames,
                                            Timestamp from);

// Evidence against the loss.
std::string ContradictionText(uint64_t signs);

}  // namespace rocescope
