// SPDX-License-Identifier: BSD-3-Clause
// What a fault costs a node that a job would get. Internal to this folder.
#pragma once

#include "analytics/diagnosis/finding_kind.h"

namespace rocescope {

// Of a fault that is certain and lasts. What loses packets, stalls or slows a rail costs all: every
// rank waits for it. What slows some traffic costs less than makes a node unsuitable.
constexpr double CostOf(FindingKind kind) {
  switch (kind) {
    case FindingKind::kSwappedCables:
    case FindingKind::kMisconfiguredEcn:
    case FindingKind::kMisconfiguredAlpha:
    case FindingKind::kPolarisation:
    case FindingKind::kLostCnps:
    case FindingKind::kDeprioritisedCnps:
    case FindingKind::kAddedLatency:
    // Work that runs causes these two, and takes them with it when it ends.
    case FindingKind::kIncast:
    case FindingKind::kNoisyNeighbour:
      return 0.4;
    default:
      return 1;
  }
}

// Whether routing leaves it out: then it costs the share of links that it takes away, no packets.
constexpr bool IsRoutedAround(FindingKind kind) {
  return kind == FindingKind::kLinkDown || kind == FindingKind::kSwitchCrash;
}

// A link that nobody uses shows no fault: one that is over counts still, but not as much as makes a
// node unsuitable.
inline constexpr double kOverCounts = 0.45;
// Above the leaves flows spread, and not each job meets the fault.
inline constexpr double kAboveCounts = 0.5;
// Of a link's time; what is above it is the cost.
inline constexpr double kBusyFrom = 0.5;
// Less than anything that is known to be wrong.
inline constexpr double kNotSeenCost = 0.02;

}  // namespace rocescope
