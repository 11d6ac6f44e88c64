// SPDX-License-Identifier: BSD-3-Clause
// The answer: how much of the time each entity did its service within bounds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analytics/metric/entity.h"
#include "analytics/service_level/indicator.h"

namespace rocescope {

struct ServiceBound {
  BoundKind kind = BoundKind::kFixed;
  double number = 0;  // as the table of indicators has it
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
  // The share of windows that has to be within bounds.
  double objective = 0.95;
  // As the alerts by two windows of Google's SRE workbook (chapter 5): the long one says that it
  // matters, the short one that it still lasts.
  uint32_t short_windows = 5;
  uint32_t long_windows = 60;
  // Bounds are learnt from so many of the first windows, and from no fewer than the latter.
  uint32_t learnt_windows = 10;
  uint32_t least_learnt = 5;
};

enum class ServiceState : uint8_t {
  kNoData,  // nobody told lately, or too little yet to learn a bound from
  kMet,
  kAtRisk,  // less than the objective in the short window, but not in the long one
  kMissed,  // in both
};
inline constexpr std::array<std::string_view, 4> kServiceStateNames = {"no_data", "met", "at_risk",
                                                                       "missed"};

struct ServiceLevel {
  static constexpr uint32_t kNoJob = UINT32_MAX;

  ServiceIndicator indicator = ServiceIndicator::kCount;
  uint32_t job = kNoJob;  // of applications and collectives: index into Attribution::jobs
  Entity entity;          // of the others
  std::optional<double> bound;
  std::optional<double> last;  // value, of the last window that has one
  // Of those of the last windows that have a value; 0 without any.
  double within_short = 0;
  double within_long = 0;
  uint32_t windows = 0;  // of the long one that have a value
  ServiceState state = ServiceState::kNoData;

  friend bool operator==(const ServiceLevel&, const ServiceLevel&) = default;
};

struct ServiceLevels {
  ServiceLevelOptions options;
  // By indicator, then job or entity: all GPUs, NICs and switch ports with a link, and all jobs.
  std::vector<ServiceLevel> levels;
};

}  // namespace rocescope
