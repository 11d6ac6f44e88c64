// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs work for a job, and how far each is from the others.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/collective/collective.h"
#include "analytics/job/attribution.h"
#include "analytics/metric/metric_store.h"
#include "topology/fabric.h"

namespace rocescope {

// By what the ranks say of theirs; where nobody says so, those next to the NICs that take part. A
// GPU is in one list, of the first job that has it.
std::vector<std::vector<topology::GpuIndex>> GpusByJob(const topology::Fabric& fabric,
                                                       const Attribution& attribution,
                                                       const std::vector<JobRhythm>& rhythms);

// By GPU and window from `from` on and before `until`: points between its utilisation and the
// median of its job's in that window. Not a number: not of a job, not read, or fewer than three of
// the job were.
std::vector<std::vector<double>> UtilisationGaps(
    const MetricStore& metrics, size_t gpus,
    const std::vector<std::vector<topology::GpuIndex>>& by_job, int64_t from, int64_t until);

}  // namespace rocescope
