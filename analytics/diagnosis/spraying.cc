// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/spraying.h"

#include <algorithm>
#include <cstddef>

namespace rocescope {

namespace {

// Whether all paths of the flow are known, and pass a single switch: there is nothing to choose.
bool HasNoAlternatives(const FlowPath& flow) {
  constexpr size_t kOneSwitch = 2;  // sending ports: those of the NIC and the switch
  return std::ranges::all_of(flow.intervals, [](const PathInterval& interval) {
    return interval.state == PathState::kExact && interval.certain.size() == kOneSwitch;
  });
}

}  // namespace

bool IsSpraying(const FlowPaths& paths) {
  constexpr size_t kFewFlows = 10;  // fewer flows than this prove nothing
  constexpr size_t kPart = 4;       // a spraying fabric spreads at least one in so many flows
  constexpr size_t kReroutes = 3;   // that no event explains
  size_t all = 0;
  size_t spread = 0;
  for (const FlowPath& flow : paths) {
    if (HasNoAlternatives(flow)) continue;
    ++all;
    const auto unexplained =
        std::ranges::count_if(flow.intervals, [](const PathInterval& interval) {
          return interval.began == PathChange::kRerouted && interval.reason == PathReason::kUnknown;
        });
    spread += static_cast<size_t>(unexplained) >= kReroutes ||
              std::ranges::any_of(flow.intervals, [](const PathInterval& interval) {
                return interval.state == PathState::kSpread;
              });
  }
  return all >= kFewFlows && kPart * spread > all;
}

}  // namespace rocescope
