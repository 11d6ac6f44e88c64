// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/window_share.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/median.h"

namespace rocescope {

bool HasValue(double value) { return !std::isnan(value); }

std::optional<double> LearntBound(std::span<const double> values, Worse worse, double slack,
                                  const ServiceLevelOptions& options) {
  constexpr double kSpreads = 6;
  constexpr double kNormal = 1.4826;
  std::vector<double> past;
  for (const double value : values) {
    if (past.size() == options.learnt_windows) break;
    if (HasValue(value)) past.push_back(value);
  }
  if (past.empty() || past.size() < options.least_learnt) return std::nullopt;
  const double median = MedianOf(past);
  for (double& value : past) value = std::abs(value - median);
  const double off = std::max(kSpreads * kNormal * MedianOf(past), slack * std::abs(median));
  return worse == Worse::kHigh ? median + off : median - off;
}

bool IsWithin(double value, double bound, Worse worse) {
  return worse == Worse::kHigh ? value <= bound : value >= bound;
}

void Judge(std::span<const double> values, std::optional<double> bound,
           const ServiceLevelOptions& options, ServiceLevel& level) {
  const Worse worse = InfoOf(level.indicator).worse;
  level.bound = bound;
  const size_t size = std::min<size_t>(values.size(), options.long_windows);
  uint32_t out_short = 0;
  uint32_t of_short = 0;
  uint32_t out_long = 0;
  size_t age = size;  // age of the newest value in windows
  for (size_t back = 0; back < size; ++back) {
    const double value = values[values.size() - 1 - back];
    if (!HasValue(value)) continue;
    if (!level.last) {
      level.last = value;
      age = back;
    }
    const bool out = bound && !IsWithin(value, *bound, worse);
    if (of_short < options.short_windows) {
      ++of_short;
      out_short += out ? 1 : 0;
    }
    ++level.windows;
    out_long += out ? 1 : 0;
  }
  const bool is_stale = age > std::max(options.short_windows, options.long_windows / 2);
  if (!bound || level.windows == 0 || is_stale) return;
  level.within_short = 1 - static_cast<double>(out_short) / of_short;
  level.within_long = 1 - static_cast<double>(out_long) / level.windows;
  // Compare numbers of windows, not shares: 3 of 60 are 5 %, independently of rounding.
  constexpr double kRounding = 1e-9;
  const auto allowed = [&](uint32_t windows) {
    return (1 - options.objective) * windows + kRounding;
  };
  if (out_short <= allowed(options.short_windows)) {
    level.state = ServiceState::kMet;
  } else if (out_long <= allowed(options.long_windows)) {
    level.state = ServiceState::kAtRisk;
  } else {
    level.state = ServiceState::kMissed;
  }
}

}  // namespace rocescope
