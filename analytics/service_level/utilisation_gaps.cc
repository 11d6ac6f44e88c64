// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/utilisation_gaps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytics/service_level/counter_values.h"
#include "analytics/service_level/window_share.h"
#include "base/median.h"

namespace rocescope {

using topology::GpuIndex;

std::vector<std::vector<double>> UtilisationGaps(const MetricStore& metrics, size_t gpus,
                                                 const std::vector<std::vector<GpuIndex>>& by_job,
                                                 int64_t from, int64_t until) {
  constexpr size_t kFewest = 3;
  const auto windows = static_cast<size_t>(std::max<int64_t>(0, until - from));
  std::vector<std::vector<double>> gaps(
      gpus, std::vector<double>(windows, std::numeric_limits<double>::quiet_NaN()));
  for (const std::vector<GpuIndex>& of_job : by_job) {
    for (const GpuIndex gpu : of_job) {
      gaps[gpu] = CounterValues(metrics, {.kind = EntityKind::kGpu, .index = gpu},
                                ServiceIndicator::kGpuUtilisationGap, from, until);
    }
    for (size_t window = 0; window < windows; ++window) {
      std::vector<double> told;
      for (const GpuIndex gpu : of_job) {
        if (HasValue(gaps[gpu][window])) told.push_back(gaps[gpu][window]);
      }
      const bool enough = told.size() >= kFewest;
      const double middle = enough ? UpperMedianOf(told) : 0;
      for (const GpuIndex gpu : of_job) {
        double& value = gaps[gpu][window];
        value = enough ? std::abs(value - middle) : std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  return gaps;
}

}  // namespace rocescope
