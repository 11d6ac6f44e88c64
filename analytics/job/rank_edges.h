// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job sent each other: attributed connections, summed up.
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

// What one rank sent to another.
struct RankEdge {
  int source_rank = -1;  // -1: not in the job's largest communicator; then the member says who
  int destination_rank = -1;
  int source_member = -1;  // index into Job::ranks; -1: it has no log
  int destination_member = -1;
  uint64_t bytes = 0;  // payload of data messages
  uint64_t messages = 0;
  uint64_t control_bytes = 0;  // clear-to-sends
  uint64_t control_messages = 0;
  std::vector<Qpn> source_qpns;       // of the connections that carried it; ascending
  std::vector<Qpn> destination_qpns;  // parallel to source_qpns
  double confidence = 0;              // of the least certain connection
  uint64_t missing = 0;
  uint64_t retransmitted = 0;
  uint64_t ce_marked = 0;
  uint64_t cnps = 0;  // that came back
  Timestamp first_seen;
  Timestamp last_seen;
};

// What went one way over a connection as those see it who use it: the data of a READ, and with it
// its message, travels from the one who is asked.
struct DirectionData {
  uint64_t bytes = 0;
  uint64_t messages = 0;
  uint64_t control_bytes = 0;
  uint64_t control_messages = 0;

  bool IsEmpty() const { return bytes == 0 && messages == 0; }
};

// `backward` is null if nothing went the other way.
DirectionData DataOf(const FlowCounts& forward, const FlowCounts* backward);

using EndClaims = std::array<std::optional<RankClaim>, 2>;  // by end

// By job; those that carried data, by source and destination rank, ranks without a number last.
// `claims` is parallel to the connections, `flows` ascends by key.
std::vector<std::vector<RankEdge>> EdgesOf(size_t jobs, const ConnectionList& connections,
                                           const std::vector<EndClaims>& claims,
                                           const FlowSummaries& flows);

}  // namespace rocescope
