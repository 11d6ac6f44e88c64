// SPDX-License-Identifier: BSD-3-Clause
// Selects the flow paths for FindPaths and BatchFindPaths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

// Paths between many pairs of endpoints: of all flows, or of the flows of a job, whose endpoints
// are rank numbers. `snapshot` must outlive the query.
class PairQuery {
 public:
  // `job` is an index into Attribution::jobs. Visits all connections once if it is set.
  PairQuery(const Snapshot& snapshot, std::optional<size_t> job);

  // Returns the paths in the order of flows, or an error if an endpoint is unknown or missing.
  ServiceResult<std::vector<const FlowPath*>> Find(const std::string& source,
                                                   const std::string& destination) const;

 private:
  struct RankPath {
    uint32_t source = 0;
    uint32_t destination = 0;
    const FlowPath* path = nullptr;
  };

  const Snapshot& snapshot_;
  const bool has_job_;
  std::vector<RankPath> by_ranks_;  // sorted by ranks, then by flow
};

}  // namespace rocescope
