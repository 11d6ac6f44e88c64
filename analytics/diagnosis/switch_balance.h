// SPDX-License-Identifier: BSD-3-Clause
// Compares the frames that a switch received with those that it sent, dropped or still holds.
#pragma once

#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/diagnosis_input.h"
#include "topology/fabric.h"

namespace rocescope {

inline constexpr double kShortestFrame = 60;  // bytes, without FCS

// Counters of a port for frames that the switch dropped.
inline constexpr Metric kCountedDrops[] = {Metric::kRxDiscards, Metric::kTxDiscards,
                                           Metric::kTtlDrops, Metric::kNoRouteDrops,
                                           Metric::kMtuDrops};

// Frames that the switch received but neither sent, nor counted as dropped, nor queued. Empty: its
// ports are not read at the same time, do not report queues, or carry undeclared traffic.
Balance BalanceOf(const DiagnosisInput& input, topology::NodeIndex node);

// Mean length of the frames that a port sent, in bytes; 0 without any. Not by window: increments
// that are divided between windows in whole frames and bytes would give any length.
double MeanLengthOf(const DiagnosisInput& input, const Entity& port);

}  // namespace rocescope
