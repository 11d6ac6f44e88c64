// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: finds the scheduler's allocation of each job.
#pragma once

#include <optional>
#include <vector>

#include "analytics/job/allocation_index.h"
#include "analytics/job/communicator.h"

namespace rocescope {

// Sets Job::allocation, or adds a note if several allocations match. `seen` is the time of each
// job's traffic.
//
// A job with traffic has the allocation that held its hosts at that time. The time of a job without
// traffic is unknown. If jobs and allocations followed each other on the same hosts, they are
// matched in their order. Otherwise such a job has the current allocation of its hosts, unless
// another job has it and ended allocations match too.
void MatchAllocations(const HostFacts& facts, const AllocationIndex& index,
                      const std::vector<std::optional<SeenTime>>& seen, std::vector<Job>& jobs);

}  // namespace rocescope
