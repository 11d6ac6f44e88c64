// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: attributes connections of ranks whose logs contain no queue pairs.
//
// Logs with NCCL_DEBUG=INFO and without the subsystem NET contain the channels of each rank, with
// the peer and the net device at either end, but no queue pair. A channel is therefore a candidate
// for every connection between the addresses of its two devices. An end of a connection belongs to
// a rank if all candidates of the job agree on it. If several jobs have candidates, because they
// used the NICs one after the other, the time of the connection decides (job_periods.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/channel_candidates.h"
#include "analytics/job/host_index.h"
#include "analytics/job/job_order.h"
#include "analytics/job/rank_edges.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

// Confidence if packets are sampled and the samples do not show what the connection carries: only
// the NICs match. See rank_claim.h.
inline constexpr double kChannelUnmeasured = 0.8;

class ChannelClaims {
 public:
  // Keeps references to the arguments.
  ChannelClaims(const std::vector<Job>& jobs, const ChannelCandidates& candidates,
                const HostIndex& hosts)
      : jobs_(jobs), candidates_(candidates), hosts_(hosts) {}

  // Adds claims for connections of which `is_open` is true. An end without a claim: unknown, or
  // several jobs match. A claim without a rank: several ranks of the job match.
  void Claim(const ConnectionList& connections, const FlowSummaries& flows,
             const std::vector<bool>& is_open, std::vector<EndClaims>& ends);

  // Keyed by job: connections that can belong to several jobs.
  std::map<uint32_t, std::string> Notes() const;

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

  // How certain it is that a connection carries clear-to-sends, as those of a job do.
  enum class Grant : uint8_t {
    kNone,
    kPossible,  // only one direction was observed
    // Only one direction was observed, but as many queue pairs between the same NICs carried
    // clear-to-sends.
    kBetweenNics,
    kUnmeasured,  // only samples exist, which do not show what the connection carries
    kSeen,
  };
  // A connection that carries data of a job, with the jobs to which it can belong.
  struct Candidate {
    size_t connection = 0;
    size_t sender = 0;
    Grant grant = Grant::kSeen;
    ChannelMatches matches;
  };
  // Queue pairs of which the other end is unknown.
  struct OneSided {
    size_t data = 0;
    size_t grants = 0;
  };

  std::vector<Candidate> Find(const ConnectionList& connections, const FlowSummaries& flows,
                              const std::vector<bool>& is_open) const;
  void Decide(const ConnectionList& connections, const FlowSummaries& flows,
              std::vector<Candidate> candidates, std::vector<EndClaims>& ends);
  ChannelMatches Between(size_t sender, const Connection& connection) const;
  ChannelMatches EitherWay(const Connection& connection) const;
  static EndClaims ClaimsOf(const ChannelMatch& match, const Candidate& candidate, double most);
  void Observe(const ConnectionList& connections, const FlowSummaries& flows);
  static void ClaimAcknowledgements(const ConnectionList& connections, const FlowSummaries& flows,
                                    const std::vector<bool>& is_open, std::vector<EndClaims>& ends);
  static Way WayOf(size_t sender, const Connection& connection);
  static Stream StreamOf(const FlowCounts& counts);
  Grant GrantOf(size_t sender, const Connection& connection, const FlowSummaries& flows) const;

  const std::vector<Job>& jobs_;
  const ChannelCandidates& candidates_;
  const HostIndex& hosts_;
  std::map<std::vector<uint32_t>, size_t> undecided_;  // number of connections by possible jobs
  std::set<uint32_t> granted_stripes_;
  std::map<Way, std::vector<Stream>> granted_;  // connections that carry clear-to-sends
  std::map<Way, OneSided> one_sided_;
};

}  // namespace rocescope
