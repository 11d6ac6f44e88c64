// SPDX-License-Identifier: BSD-3-Clause
// Whose queue pairs they are: what hosts say of their processes, joined with the connections and
// flows that the fabric showed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/communicator.h"
#include "analytics/job/rdma_resource.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

// `rdma resource show qp` of one host.
struct RdmaDump {
  std::string host;  // as its file is named: a host name or an address
  std::vector<RdmaQueuePair> queue_pairs;
};

struct HostFacts {
  std::vector<Job> jobs;
  std::vector<RdmaDump> rdma;
};

// What one rank sent to another.
struct RankEdge {
  int source_rank = -1;
  int destination_rank = -1;
  uint64_t bytes = 0;  // payload of data messages
  uint64_t messages = 0;
  uint64_t control_bytes = 0;  // clear-to-sends
  uint64_t control_messages = 0;
  std::vector<Qpn> source_qpns;       // of the connections that carried it; ascending
  std::vector<Qpn> destination_qpns;  // parallel to source_qpns
  double confidence = 0;              // of the least certain connection
  uint64_t unseen = 0;
  uint64_t resent = 0;
  uint64_t ce_marked = 0;
  uint64_t cnps = 0;  // that came back
  Timestamp first_seen;
  Timestamp last_seen;
};

// How an end of a connection got its rank.
enum class RankSource : uint8_t {
  kNcclLog,       // the rank's own log names the queue pair
  kRdmaResource,  // its host does, and the log the process
  kPeer,          // the peer's log says whom it sends to
  kReceiver,      // the receiver's log says whom it receives from, and the addresses leave one pair
};

struct RankClaim {
  uint32_t job = 0;  // index into Attribution::jobs
  int rank = -1;
  RankSource source = RankSource::kNcclLog;
  double confidence = 0;
};

struct AttributedJob {
  Job job;
  std::vector<RankEdge> edges;  // that carried data, by source and destination rank
};

struct Attribution {
  std::vector<AttributedJob> jobs;
  // Parallel to the connections; by end.
  std::vector<std::array<std::optional<RankClaim>, 2>> endpoints;
};

// Pairs that the facts state outright, for the connection tracker.
std::vector<KnownPair> KnownPairsOf(const HostFacts& facts);

// `flows` by key, as TrafficTotals gives them.
Attribution AttributeJobs(const HostFacts& facts, const std::vector<Connection>& connections,
                          const std::vector<FlowSummary>& flows);

}  // namespace rocescope
