// SPDX-License-Identifier: BSD-3-Clause
// Weights for the cost of a fault to a node. The cost of each fault kind is in the registry,
// topology/fault/fault_kind.h. Internal to this folder.
#pragma once

namespace rocescope {

// An idle link shows no fault, so a resolved fault still counts, but not enough to make a node
// unsuitable.
inline constexpr double kOverCounts = 0.45;
// Flows spread above the leaves, so that not every job meets a fault there.
inline constexpr double kAboveCounts = 0.5;
// Link utilisation from 0 to 1; the part above this is a cost.
inline constexpr double kBusyFrom = 0.5;
// Below kBusyFrom, the busiest link of a host costs this share of its utilisation, unless the link
// is practically idle: a host with traffic that belongs to no known job ranks after idle hosts.
inline constexpr double kLightLoadCost = 0.25;
inline constexpr double kIdleBelow = 0.02;
// Cost of a node without telemetry: less than the cost of any known fault.
inline constexpr double kUnmonitoredCost = 0.02;

}  // namespace rocescope
