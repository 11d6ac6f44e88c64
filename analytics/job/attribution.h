// SPDX-License-Identifier: BSD-3-Clause
// Attributes connections and flows to jobs and ranks by joining host facts with the observed
// traffic.
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
  std::vector<RankEdge> edges;  // edges that carried data
};

struct Attribution {
  std::vector<AttributedJob> jobs;
  std::vector<EndClaims> endpoints;  // parallel to the connections
  std::vector<std::string> notes;    // about the host facts as a whole
};

// `flows` is sorted by key, as returned by TrafficTotals. Takes O(n log n); ranks, queue pairs and
// connections are each visited once.
Attribution AttributeJobs(const HostFacts& facts, const ConnectionList& connections,
                          const FlowSummaries& flows);

}  // namespace rocescope
