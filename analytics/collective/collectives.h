// SPDX-License-Identifier: BSD-3-Clause
// What each job does again and again; and, where no host says so, which jobs there are.
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

// Adds to `attribution`, which is of these connections and flows, the jobs that the wire alone
// shows. IterationPatterns are by job; a job without a period, or that was not seen for three, has none.
std::vector<JobIterationPattern> FindCollectives(const HostFacts& facts, const ConnectionList& connections,
                                       const FlowSummaries& flows, const ActivityTracker& activity,
                                       Attribution& attribution);

// The same for one state of traffic after the other. To look for rhythms goes over all connections,
// and iterations take seconds: between two looks, what the last one found is said again.
class CollectiveFinder {
 public:
  // A look at most every `pace` of event time; 0: each time.
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
  std::vector<std::string> notes_;  // of the last look
  std::vector<Job> wire_jobs_;
  std::vector<std::pair<Ends, EndClaims>> of_wire_;  // by ends; their jobs are among wire_jobs_
  std::map<std::string, JobIterationPattern> by_job_;          // by the job's id
  std::shared_ptr<const std::vector<JobIterationPattern>> iteration_patterns_;
};

}  // namespace rocescope
