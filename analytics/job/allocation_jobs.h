// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: attributes connections that no NCCL log or rdma dump covers to the jobs
// that hold the nodes at both ends.
#pragma once

#include <cstdint>
#include <optional>
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
// parallel to the connections, and `seen` to `jobs`. If a job in `jobs` has the allocation, the
// claims have this job and no rank, because the participants are among its ranks. If several jobs
// have the allocation, the time of the connection decides. If it does not decide, or if no job has
// the allocation, the participants are the NICs of a new job.
void ClaimByAllocation(const HostFacts& facts, const AllocationIndex& index,
                       const ConnectionList& connections,
                       const std::vector<AllocationAnswer>& answers,
                       const std::vector<std::optional<SeenTime>>& seen, std::vector<Job>& jobs,
                       std::vector<EndClaims>& ends, std::vector<std::string>& notes);

// Converts an allocation to the form shown in a job.
JobAllocation ToJobAllocation(const Allocation& allocation);

}  // namespace rocescope
