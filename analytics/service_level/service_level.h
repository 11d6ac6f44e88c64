// SPDX-License-Identifier: BSD-3-Clause
// Results of the service level analysis: the share of time for which each entity stayed within its
// bounds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "analytics/metric/entity.h"
#include "analytics/service_level/indicator.h"

namespace rocescope {

struct ServiceBound {
  BoundKind kind = BoundKind::kFixed;
  double number = 0;  // as defined in the table of indicators
};

constexpr std::array<ServiceBound, kServiceIndicatorCount> DefaultServiceBounds() {
  std::array<ServiceBound, kServiceIndicatorCount> bounds;
  for (size_t i = 0; i < kServiceIndicatorCount; ++i) {
    bounds[i] = {.kind = kServiceIndicators[i].bound, .number = kServiceIndicators[i].number};
  }
  return bounds;
}

struct ServiceLevelOptions {
  std::array<ServiceBound, kServiceIndicatorCount> bounds = DefaultServiceBounds();
  // Required share of windows within bounds.
  double objective = 0.95;
  // Multiwindow alerting as in Google's SRE workbook (chapter 5): the long window shows that a
  // violation is significant, the short window that it is still happening.
  uint32_t short_windows = 5;
  uint32_t long_windows = 60;
  // Bounds are learnt from at most `learnt_windows` and at least `least_learnt` of the first
  // windows.
  uint32_t learnt_windows = 10;
  uint32_t least_learnt = 5;
};

enum class ServiceState : uint8_t {
  kNoData,  // no recent values, or too few values to learn a bound
  kMet,
  kAtRisk,  // below the objective in the short window only
  kMissed,  // below the objective in both windows
};
inline constexpr std::array<std::string_view, 4> kServiceStateNames = {"no_data", "met", "at_risk",
                                                                       "missed"};

struct ServiceLevel {
  static constexpr uint32_t kNoJob = UINT32_MAX;

  ServiceIndicator indicator = ServiceIndicator::kCount;
  uint32_t job = kNoJob;  // index into Attribution::jobs (application and collective layers)
  Entity entity;          // entity (all other layers)
  std::optional<double> bound;
  std::optional<double> last;  // value of the latest window that has one
  // Shares of the windows with a value that are within bounds; 0 without any value.
  double within_short = 0;
  double within_long = 0;
  uint32_t windows = 0;  // number of windows in the long window that have a value
  ServiceState state = ServiceState::kNoData;

  friend bool operator==(const ServiceLevel&, const ServiceLevel&) = default;
};

// Whether `a` has a worse state than `b` or, with the same state, lower shares within bounds.
inline bool IsWorse(const ServiceLevel& a, const ServiceLevel& b) {
  return std::tuple(b.state, a.within_long, a.within_short) <
         std::tuple(a.state, b.within_long, b.within_short);
}

struct ServiceLevels {
  ServiceLevelOptions options;
  // Sorted by indicator, then job or entity: all GPUs, NICs and switch ports with a link, and all
  // jobs.
  std::vector<ServiceLevel> levels;
};

}  // namespace rocescope
