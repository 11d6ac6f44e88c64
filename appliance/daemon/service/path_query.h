// SPDX-License-Identifier: BSD-3-Clause
// Selects the flow paths for a FindPaths request.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "appliance/daemon/service/service_error.h"

namespace rocescope {

namespace v1 {
class FindPathsRequest;
}

// Returns paths in the order of flows. Requires a topology. `job` is an index into
// Attribution::jobs of the job that the request names. The run time is proportional to the number
// of flows between the two endpoints or, for a job, to the number of all connections.
ServiceResult<std::vector<const FlowPath*>> QueryPaths(const Snapshot& snapshot,
                                                       std::optional<size_t> job,
                                                       const v1::FindPathsRequest& request);

}  // namespace rocescope
