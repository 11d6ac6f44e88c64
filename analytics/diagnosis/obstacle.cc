// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/obstacle.h"

#include <algorithm>
#include <set>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"

namespace rocescope {
namespace {

void CountAddresses(const DiagnosisInput& input, Hindrance& hindrance) {
  std::set<topology::NicAddress> addresses;
  for (const FlowSummary& flow : input.parts().flows) {
    addresses.insert({.segment = flow.flow.segment, .address = flow.flow.source});
    addresses.insert({.segment = flow.flow.segment, .address = flow.flow.destination});
  }
  hindrance.addresses = static_cast<uint32_t>(addresses.size());
  hindrance.addresses_known =
      static_cast<uint32_t>(std::ranges::count_if(addresses, [&](const auto& address) {
        return input.fabric().FindNic(address) != topology::kNone;
      }));
}

// The polling interval of a counter whose readings span more than the stored windows: that of the
// readings in the stored windows, or the time between the last two if there is only one.
Duration LatePeriodOf(const MetricStore& metrics, const MetricSeries& series) {
  constexpr auto kStored = static_cast<int64_t>(MetricSeries::kMaxWindows);
  // A reading at the end of a window belongs to that window.
  const int64_t last = metrics.WindowOf(series.last_reading() - Duration(1));
  int64_t first = last - kStored + 1;
  int64_t read = kStored;
  const auto begin = std::ranges::lower_bound(series.skipped(), first);
  for (auto at = begin; at != series.skipped().end() && *at <= last; ++at) {
    if (*at == first) ++first;
    --read;
  }
  return read > 1 ? metrics.window() * (last - first) / (read - 1) : series.last_gap();
}

// The median over all counters, because a few may be read only once or by another collector. At
// least one window.
Duration ReadingPeriodIn(const DiagnosisInput& input) {
  const MetricStore& metrics = input.parts().metrics;
  std::vector<Duration> periods;
  for (const auto& [entity, of] : metrics.entities()) {
    for (const auto& [metric, series] : of.series) {
      if (series.is_by_agent() || series.last_reading() <= series.first_reading()) continue;
      const int64_t first = metrics.WindowOf(series.first_reading());
      const int64_t last = metrics.WindowOf(series.last_reading());
      const int64_t span = last - first + 1;
      if (span > static_cast<int64_t>(MetricSeries::kMaxWindows)) {
        periods.push_back(std::max(LatePeriodOf(metrics, series), metrics.window()));
        continue;
      }
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

// Whether packets and counter readings do not overlap in time.
bool AreOfOtherTimes(const DiagnosisInput& input) {
  if (input.windows() == 0 || input.parts().flows.empty()) return false;
  Timestamp first = Timestamp::max();
  Timestamp last = Timestamp::min();
  for (const FlowSummary& flow : input.parts().flows) {
    first = std::min(first, flow.total.first_seen);
    last = std::max(last, flow.total.last_seen);
  }
  return last < input.BeginOf(0) || first > input.EndOf(input.windows() - 1);
}

}  // namespace

Hindrance HindranceTo(const DiagnosisInput& input) {
  Hindrance hindrance;
  CountAddresses(input, hindrance);
  hindrance.reading_period = ReadingPeriodIn(input);
  const auto nics = input.fabric().nics();
  const auto with_address =
      std::ranges::count_if(nics, [](const topology::Nic& nic) { return !nic.addresses.empty(); });
  const bool says_addresses = 2 * static_cast<size_t>(with_address) > nics.size();
  if (says_addresses && 2 * hindrance.addresses_known < hindrance.addresses) {
    hindrance.obstacle = Obstacle::kForeignTopology;
  } else if (2 * hindrance.reading_period > 3 * input.parts().metrics.window()) {
    hindrance.obstacle = Obstacle::kSparseReadings;
  } else if (AreOfOtherTimes(input)) {
    hindrance.obstacle = Obstacle::kOtherTime;
  } else if (input.windows() > 0 && input.windows() < kEnoughWindows) {
    hindrance.obstacle = Obstacle::kFewWindows;
  }
  return hindrance;
}

}  // namespace rocescope
