// SPDX-License-Identifier: BSD-3-Clause
// Compares the utilisation of each GPU with the other GPUs of its job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/metric/metric_store.h"
#include "topology/fabric.h"

namespace rocescope {

// Returns by GPU and window in [from, until) the absolute difference in percentage points between
// the GPU's utilisation and the median of its job. NaN: the GPU belongs to no job, was not read, or
// fewer than three GPUs of the job were read.
std::vector<std::vector<double>> UtilisationGaps(
    const MetricStore& metrics, size_t gpus,
    const std::vector<std::vector<topology::GpuIndex>>& by_job, int64_t from, int64_t until);

}  // namespace rocescope
