// SPDX-License-Identifier: BSD-3-Clause
// Jobs without logs: processes that kernels name as holders of queue pairs, and that talk to each
// other, or do alike within one allocation of the scheduler: rails need not. Their ranks have
// numbers where the processes' environments tell them.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/job/allocation_index.h"
#include "analytics/job/claims.h"
#include "analytics/job/communicator.h"
#include "analytics/job/rank_edges.h"

namespace rocescope {

// Claims in `ends`, which is parallel to the connections as `allocations` is, what nobody claims
// there and a kernel knows. The jobs are to be numbered from `first` on.
std::vector<Job> JobsOfProcesses(const ConnectionList& connections, const Claims& claims,
                                 const std::vector<AllocationAnswer>& allocations,
                                 const std::vector<HostProcess>& environments, uint32_t first,
                                 std::vector<EndClaims>& ends);

}  // namespace rocescope
