// SPDX-License-Identifier: BSD-3-Clause
// Whose queue pairs they are: what hosts say of their processes, joined with the connections and
// flows that the fabric showed.
#pragma once

#include <string>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/host_facts.h"
#include "analytics/job/known_pairs.h"
#include "analytics/job/rank_edges.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

struct AttributedJob {
  Job job;
  std::vector<RankEdge> edges;  // that carried data
};

struct Attribution {
  std::vector<AttributedJob> jobs;
  std::vector<EndClaims> endpoints;  // parallel to the connections
  std::vector<std::string> notes;    // on the facts as a whole
};

// `flows` by key, as TrafficTotals gives them. Time is that of sorting; a job's ranks, their queue
// pairs and the connections are each gone over once.
Attribution AttributeJobs(const HostFacts& facts, const ConnectionList& connections,
                          const FlowSummaries& flows);

}  // namespace rocescope
