// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: the cost of a fault for a node that a job would use.
#pragma once

#include "analytics/diagnosis/finding_kind.h"

namespace rocescope {

// Cost of a certain, persistent fault. A fault that loses packets, or stalls or slows a rail, has
// the full cost because every rank waits for it. A fault that slows only some traffic does not make
// a node unsuitable.
constexpr double CostOf(FindingKind kind) {
  switch (kind) {
    case FindingKind::kSwappedCables:
    case FindingKind::kMisconfiguredEcn:
    case FindingKind::kMisconfiguredAlpha:
    case FindingKind::kPolarisation:
    case FindingKind::kLostCnps:
    case FindingKind::kDeprioritisedCnps:
    case FindingKind::kAddedLatency:
    // The running workload causes these two, and they end with it.
    case FindingKind::kIncast:
    case FindingKind::kNoisyNeighbour:
      return 0.4;
    default:
      return 1;
  }
}

// Whether routing avoids the fault. Such a fault costs the share of links that it removes, but
// loses no packets.
constexpr bool IsRoutedAround(FindingKind kind) {
  return kind == FindingKind::kLinkDown || kind == FindingKind::kSwitchCrash;
}

// A link without traffic shows no fault, so a resolved fault still counts with this factor, which
// alone does not make a node unsuitable.
inline constexpr double kOverCounts = 0.45;
// Above the leaves, flows are spread over several paths, so not every job meets the fault.
inline constexpr double kAboveCounts = 0.5;
// Share of a link's time; the excess over this share is the cost.
inline constexpr double kBusyFrom = 0.5;
// Lower than the cost of any known problem.
inline constexpr double kNotSeenCost = 0.02;

}  // namespace rocescope
