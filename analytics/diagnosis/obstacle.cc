// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/obstacle.h"

#include <algorithm>
#include <set>
#include <vector>

#include "analytics/diagnosis/scene.h"

namespace rocescope {
namespace {

void CountAddresses(const Scene& scene, Hindrance& hindrance) {
  std::set<topology::NicAddress> addresses;
  for (const FlowSummary& flow : scene.parts().flows) {
    addresses.insert({.segment = flow.flow.segment, .address = flow.flow.source});
    addresses.insert({.segment = flow.flow.segment, .address = flow.flow.destination});
  }
  hindrance.addresses = static_cast<uint32_t>(addresses.size());
  hindrance.addresses_known =
      static_cast<uint32_t>(std::ranges::count_if(addresses, [&](const auto& address) {
        return scene.fabric().FindNic(address) != topology::kNone;
      }));
}

// Of the counters, the median's: some are read once, or by somebody else. At least a window, and at
// most as many as are remembered.
Duration ReadingPeriodIn(const Scene& scene) {
  const MetricStore& metrics = scene.parts().metrics;
  std::vector<Duration> periods;
  for (const auto& [entity, of] : metrics.entities()) {
    for (const auto& [metric, series] : of.series) {
      if (series.is_by_agent() || series.last_reading() <= series.first_reading()) continue;
      const int64_t first = metrics.WindowOf(series.first_reading());
      const int64_t last = metrics.WindowOf(series.last_reading());
      const auto span = std::min<int64_t>(last - first + 1, MetricSeries::kMaxWindows);
      const int64_t read = span - std::ranges::count_if(series.skipped(), [&](int64_t window) {
                             return window > last - span;
                           });
      periods.push_back(metrics.window() * span / std::max<int64_t>(read, 1));
    }
  }
  if (periods.empty()) return {};
  const auto middle = periods.begin() + static_cast<ptrdiff_t>(periods.size() / 2);
  std::ranges::nth_element(periods, middle);
  return *middle;
}

// Packets and readings do not overlap anywhere.
bool AreOfOtherTimes(const Scene& scene) {
  if (scene.windows() == 0 || scene.parts().flows.empty()) return false;
  Timestamp first = Timestamp::max();
  Timestamp last = Timestamp::min();
  for (const FlowSummary& flow : scene.parts().flows) {
    first = std::min(first, flow.total.first_seen);
    last = std::max(last, flow.total.last_seen);
  }
  return last < scene.BeginOf(0) || first > scene.EndOf(scene.windows() - 1);
}

}  // namespace

Hindrance HindranceTo(const Scene& scene) {
  Hindrance hindrance;
  CountAddresses(scene, hindrance);
  hindrance.reading_period = ReadingPeriodIn(scene);
  const auto nics = scene.fabric().nics();
  const auto with_address =
      std::ranges::count_if(nics, [](const topology::Nic& nic) { return !nic.addresses.empty(); });
  const bool says_addresses = 2 * static_cast<size_t>(with_address) > nics.size();
  if (says_addresses && 2 * hindrance.addresses_known < hindrance.addresses) {
    hindrance.obstacle = Obstacle::kForeignTopology;
  } else if (2 * hindrance.reading_period > 3 * scene.parts().metrics.window()) {
    hindrance.obstacle = Obstacle::kSparseReadings;
  } else if (AreOfOtherTimes(scene)) {
    hindrance.obstacle = Obstacle::kOtherTime;
  } else if (scene.windows() > 0 && scene.windows() < kEnoughWindows) {
    hindrance.obstacle = Obstacle::kFewWindows;
  }
  return hindrance;
}

}  // namespace rocescope
