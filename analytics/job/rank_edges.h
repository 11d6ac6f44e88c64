// SPDX-License-Identifier: BSD-3-Clause
// Traffic between the ranks of a job, summed over attributed connections.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/rank_claim.h"
#include "analytics/traffic/traffic.h"
#include "base/qpn.h"
#include "base/time.h"

namespace rocescope {

// Traffic from one rank to another.
struct RankEdge {
  // -1: not in the job's largest communicator; then the member identifies the rank
  int source_rank = -1;
  int destination_rank = -1;
  int source_member = -1;  // index into Job::ranks; -1: no log
  int destination_member = -1;
  uint64_t bytes = 0;  // payload of data messages
  uint64_t messages = 0;
  uint64_t control_bytes = 0;  // clear-to-sends
  uint64_t control_messages = 0;
  std::vector<Qpn> source_qpns;       // ascending; QPNs of the connections that carried the data
  std::vector<Qpn> destination_qpns;  // parallel to source_qpns
  double confidence = 0;              // lowest confidence of the connections
  uint64_t missing = 0;
  uint64_t retransmitted = 0;
  uint64_t ce_marked = 0;
  uint64_t cnps = 0;  // returned CNPs
  Timestamp first_seen;
  Timestamp last_seen;
};

// Data in one direction of a connection from the application's view: the data and the message of a
// READ count in the direction from the responder to the requester.
struct DirectionData {
  uint64_t bytes = 0;
  uint64_t messages = 0;
  uint64_t control_bytes = 0;
  uint64_t control_messages = 0;

  bool IsEmpty() const { return bytes == 0 && messages == 0; }
};

// `backward` is null if there was no traffic in the opposite direction.
DirectionData DataOf(const FlowCounts& forward, const FlowCounts* backward);

using EndClaims = std::array<std::optional<RankClaim>, 2>;  // indexed by end

// Returns the edges of each job that carried data, sorted by source and destination rank, ranks
// without a number last. `claims` is parallel to the connections; `flows` is sorted by key.
std::vector<std::vector<RankEdge>> EdgesOf(size_t jobs, const ConnectionList& connections,
                                           const std::vector<EndClaims>& claims,
                                           const FlowSummaries& flows);

}  // namespace rocescope
