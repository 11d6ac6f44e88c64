// SPDX-License-Identifier: BSD-3-Clause
// The parameters of faults in scenarios, with their units, limits and defaults. Which of them a
// kind has is in its row in topology/fault/fault_kind.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fault/fault.h"

namespace rocescope::sim {

struct FaultParameter {
  std::string_view name;  // key of the scenario
  std::string_view help;  // meaning, unit and limits; starts in lower case, without a full stop
  std::string (*usual)(const FaultOptions& defaults);  // nullptr: the parameter is required
};

std::span<const FaultParameter> FaultParameters();
std::vector<std::string_view> ParametersOf(FaultKind kind);

// Limits that keep the time of a run finite.
inline constexpr double kLeastReceiverRate = 1e6;  // bit/s
inline constexpr SimTime kMostAddedDelay = kSecond;

}  // namespace rocescope::sim
