// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: attributes connections of ranks whose logs contain no queue pairs.
//
// Logs with NCCL_DEBUG=INFO and without the subsystem NET contain the channels of each rank, with
// the peer and the net device at either end, but no queue pair. A channel is therefore a candidate
// for every connection between the addresses of its two devices. An end of a connection belongs to
// a rank if all candidates agree on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/channel_candidates.h"
#include "analytics/job/host_index.h"
#include "analytics/job/rank_edges.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

class ChannelClaims {
 public:
  // Keeps references to the arguments.
  ChannelClaims(const ChannelCandidates& candidates, const HostIndex& hosts)
      : candidates_(candidates), hosts_(hosts) {}

  // Adds claims for connections of which `is_open` is true. An end without a claim: unknown, or
  // several jobs match. A claim without a rank: several ranks of the job match.
  void Claim(const ConnectionList& connections, const FlowSummaries& flows,
             const std::vector<bool>& is_open, std::vector<EndClaims>& ends);

 private:
  using Way = std::tuple<Segment, IpAddress, IpAddress>;  // sender and receiver of data

  // Data of one connection.
  struct Stream {
    uint64_t messages = 0;
    uint64_t bytes = 0;
    Timestamp first_seen;
    Timestamp last_seen;

    bool IsSplitWith(const Stream& other) const;
  };

  EndClaims Of(const Connection& connection, const FlowSummaries& flows) const;
  void Observe(const ConnectionList& connections, const FlowSummaries& flows);
  static void ClaimAcknowledgements(const ConnectionList& connections, const FlowSummaries& flows,
                                    const std::vector<bool>& is_open, std::vector<EndClaims>& ends);
  static Way WayOf(size_t sender, const Connection& connection);
  static Stream StreamOf(const FlowCounts& counts);
  bool IsGranted(size_t sender, const Connection& connection, const FlowSummaries& flows) const;

  const ChannelCandidates& candidates_;
  const HostIndex& hosts_;
  std::set<uint32_t> granted_stripes_;
  std::map<Way, std::vector<Stream>> granted_;  // connections that carry clear-to-sends
};

}  // namespace rocescope
