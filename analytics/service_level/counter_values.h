// SPDX-License-Identifier: BSD-3-Clause
// Values of the counter-based indicators of GPUs, NICs and ports by analysis window.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/metric/metric_store.h"
#include "analytics/service_level/indicator.h"

namespace rocescope {

// Returns one value per window in [from, until); NaN: the window is not completely covered by
// readings. Values are for a whole GPU, NIC or port: counts per priority are summed, and times are
// those of the worst priority. For kGpuUtilisationGap the value is the utilisation itself.
std::vector<double> CounterValues(const MetricStore& metrics, const Entity& entity,
                                  ServiceIndicator indicator, int64_t from, int64_t until);

}  // namespace rocescope
