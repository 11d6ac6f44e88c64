// SPDX-License-Identifier: BSD-3-Clause
// Builds jobs without NCCL logs from processes in rdma dumps. Processes belong to one job if they
// communicate with each other, or if they have the same command within one scheduler allocation
// (rails need not communicate). Ranks are numbered if the processes' environments contain their
// ranks.
//
// A pair of processes that exchanges data without the clear-to-sends of collective libraries, such
// as a storage client and its server, is no job. All such pairs with the same command form one
// entry for other RDMA traffic.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/job/allocation_index.h"
#include "analytics/job/claims.h"
#include "analytics/job/communicator.h"
#include "analytics/job/rank_edges.h"

namespace rocescope {

// Adds claims to `ends` for ends without a claim whose process is known from an rdma dump. `ends`
// and `allocations` are parallel to the connections. Job numbers start at `first`.
std::vector<Job> JobsOfProcesses(const ConnectionList& connections, const FlowSummaries& flows,
                                 const Claims& claims,
                                 const std::vector<AllocationAnswer>& allocations,
                                 const std::vector<HostProcess>& environments, uint32_t first,
                                 std::vector<EndClaims>& ends);

}  // namespace rocescope
