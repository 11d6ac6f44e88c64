// SPDX-License-Identifier: BSD-3-Clause
// What neither logs nor kernels claim, given to the jobs whose nodes it is between. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analytics/job/allocation_index.h"
#include "analytics/job/communicator.h"
#include "analytics/job/rank_edges.h"

namespace rocescope {

// By connection.
std::vector<AllocationAnswer> AllocationsOf(const ConnectionList& connections,
                                            const AllocationIndex& index);

// Claims in `ends`, which is parallel to the connections and to `answers`, those of which neither
// end is claimed. Who takes part are the NICs: members of `jobs` without a rank and without a
// process, of the job that has the allocation, or of a new one where none or several have.
void ClaimByAllocation(const HostFacts& facts, const AllocationIndex& index,
                       const ConnectionList& connections,
                       const std::vector<AllocationAnswer>& answers, std::vector<Job>& jobs,
                       std::vector<EndClaims>& ends, std::vector<std::string>& notes);

// As a job shows it.
JobAllocation ToJobAllocation(const Allocation& allocation);

}  // namespace rocescope
