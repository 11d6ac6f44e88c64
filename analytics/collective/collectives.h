// SPDX-License-Identifier: BSD-3-Clause
// Detects the collectives of each job, and infers jobs that no host reports.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analytics/collective/activity.h"
#include "analytics/collective/collective.h"
#include "analytics/connection/connection.h"
#include "analytics/job/attribution.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

// Adds the inferred jobs to `attribution`, which must belong to these connections and flows.
// Returns one JobIterationPattern per job; a job without a period, or with fewer than three
// observed periods, has none.
std::vector<JobIterationPattern> FindCollectives(const HostFacts& facts,
                                                 const ConnectionList& connections,
                                                 const FlowSummaries& flows,
                                                 const ActivityTracker& activity,
                                                 Attribution& attribution);

// Calls FindCollectives for successive states of the traffic. A search visits all connections,
// but an iteration takes seconds. Therefore the finder returns its last result until `pace` has
// passed.
class CollectiveFinder {
 public:
  // Searches at most once per `pace` of event time; 0: at each call.
  explicit CollectiveFinder(Duration pace = {}) : pace_(pace) {}

  std::shared_ptr<const std::vector<JobIterationPattern>> Find(const HostFacts& facts,
                                                               const ConnectionList& connections,
                                                               const FlowSummaries& flows,
                                                               const ActivityTracker& activity,
                                                               Attribution& attribution);

 private:
  using Ends = std::array<ConnectionEndpoint, 2>;

  void Remember(const ConnectionList& connections, const Attribution& attribution);
  void Repeat(const ConnectionList& connections, const FlowSummaries& flows,
              Attribution& attribution);

  Duration pace_;
  std::optional<Timestamp> looked_;
  std::vector<std::string> notes_;  // notes of the last search
  std::vector<Job> wire_jobs_;
  std::vector<std::pair<Ends, EndClaims>> of_wire_;  // sorted by ends; job numbers index wire_jobs_
  std::map<std::string, JobIterationPattern> by_job_;  // indexed by job ID
  std::shared_ptr<const std::vector<JobIterationPattern>> iteration_patterns_;
};

}  // namespace rocescope
