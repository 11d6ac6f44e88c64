// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: attributes connections that no NCCL log or rdma dump covers to the jobs
// that hold the nodes at both ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analytics/job/allocation_index.h"
#include "analytics/job/communicator.h"
#include "analytics/job/rank_edges.h"

namespace rocescope {

// Returns one answer per connection.
std::vector<AllocationAnswer> AllocationsOf(const ConnectionList& connections,
                                            const AllocationIndex& index);

// Adds claims to `ends` for connections without a claim at either end; `ends` and `answers` are
// parallel to the connections. The participants are NICs. They are added, without rank and process,
// to the job in `jobs` that has the allocation. If no job or several jobs have it, they are added
// to a new job.
void ClaimByAllocation(const HostFacts& facts, const AllocationIndex& index,
                       const ConnectionList& connections,
                       const std::vector<AllocationAnswer>& answers, std::vector<Job>& jobs,
                       std::vector<EndClaims>& ends, std::vector<std::string>& notes);

// Converts an allocation to the form shown in a job.
JobAllocation ToJobAllocation(const Allocation& allocation);

}  // namespace rocescope
