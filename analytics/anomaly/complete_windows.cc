// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/complete_windows.h"

#include <algorithm>
#include <optional>

namespace rocescope {
namespace {

// An entity that is this many windows behind the others has stopped reporting; evaluation no longer
// waits for it.
constexpr int64_t kSilent = 4;

Timestamp LastReadingOf(const MetricStore::OfEntity& of_entity) {
  Timestamp last;
  for (const auto& [metric, series] : of_entity.series) {
    last = std::max(last, series.last_reading());
  }
  return last;
}

}  // namespace

int64_t FirstCompleteWindow(const MetricStore& metrics, std::span<const Member> members) {
  std::optional<Timestamp> first;
  for (const Member& member : members) {
    for (const auto& [metric, series] : member.of_entity->series) {
      first = std::min(first.value_or(series.first_reading()), series.first_reading());
    }
  }
  return metrics.WindowOf(first.value_or(Timestamp()) + metrics.window() - Duration(1));
}

int64_t EndOfCompleteWindows(const MetricStore& metrics, std::span<const Member> members) {
  Timestamp horizon;
  for (const Member& member : members) {
    horizon = std::max(horizon, LastReadingOf(*member.of_entity));
  }
  Timestamp settled = horizon;
  for (const Member& member : members) {
    const Timestamp last = LastReadingOf(*member.of_entity);
    if (last >= horizon - kSilent * metrics.window()) settled = std::min(settled, last);
  }
  return metrics.WindowOf(settled);
}

}  // namespace rocescope
