// SPDX-License-Identifier: BSD-3-Clause
// What the counters of GPUs, NICs and ports say of analysis windows.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/metric/metric_store.h"
#include "analytics/service_level/indicator.h"

namespace rocescope {

// By window from `from` on and before `until`; not a number: not read in all of it. Of a GPU, NIC
// or port as a whole; what is told by priority is summed up, times are those of the worst one.
// kGpuUtilisationGap is not among them: its value here is the utilisation itself.
std::vector<double> CounterValues(const MetricStore& metrics, const Entity& entity,
                                  ServiceIndicator indicator, int64_t from, int64_t until);

}  // namespace rocescope
