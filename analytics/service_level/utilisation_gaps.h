// SPDX-License-Identifier: BSD-3-Clause
// How far each GPU of a job is from the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/metric/metric_store.h"
#include "topology/fabric.h"

namespace rocescope {

// By GPU and window from `from` on and before `until`: points between its utilisation and the
// median of its job's in that window. Not a number: not of a job, not read, or fewer than three of
// the job were.
std::vector<std::vector<double>> UtilisationGaps(
    const MetricStore& metrics, size_t gpus,
    const std::vector<std::vector<topology::GpuIndex>>& by_job, int64_t from, int64_t until);

}  // namespace rocescope
