// SPDX-License-Identifier: BSD-3-Clause
// Sentences about a memory budget (key `memory`) that is too small.
#pragma once

#include <cstdint>
#include <string>

#include "analytics/metric/metric_store.h"
#include "base/time.h"

namespace rocescope {

// Empty if the topology takes at most half of the budget.
std::string TopologyMemoryText(uint64_t topology, uint64_t budget);

// Empty if no reading of a new counter series was refused in the last five minutes before `now`, in
// event time.
std::string RefusedSeriesText(const MetricStatistics& counters, Timestamp now, uint64_t budget);

}  // namespace rocescope
