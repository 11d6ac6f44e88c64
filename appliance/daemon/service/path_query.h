// SPDX-License-Identifier: BSD-3-Clause
// Which flows' paths are asked for.
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

// By flow. There must be a topology; `job` is an index into Attribution::jobs, of the job that the
// request names. Takes the time of the flows between the two ends; of a job, that of all
// connections.
ServiceResult<std::vector<const FlowPath*>> QueryPaths(const Snapshot& snapshot,
                                                       std::optional<size_t> job,
                                                       const v1::FindPathsRequest& request);

}  // namespace rocescope
