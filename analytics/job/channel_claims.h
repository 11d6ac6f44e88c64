// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: attributes connections of ranks whose logs contain no queue pairs.
//
// Logs with NCCL_DEBUG=INFO and without the subsystem NET contain the channels of each rank, with
// the peer and the net device at either end, but no queue pair. A channel is therefore a candidate
// for every connection between the addresses of its two devices. An end of a connection belongs to
// a rank if all candidates agree on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/host_facts.h"
#include "analytics/job/host_index.h"
#include "analytics/job/job_index.h"
#include "analytics/job/rank_edges.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

class ChannelClaims {
 public:
  // Keeps references to `hosts` and `index`.
  ChannelClaims(const std::vector<Job>& jobs, const HostIndex& hosts, const JobIndex& index);

  // Adds claims for connections of which `is_open` is true. An end without a claim: unknown, or
  // several jobs match. A claim without a rank: several ranks of the job match.
  void Claim(const ConnectionList& connections, const FlowSummaries& flows,
             const std::vector<bool>& is_open, std::vector<EndClaims>& ends);

 private:
  // Where a channel's end is, as precisely as the logs and the topology state it.
  struct Place {
    enum class Kind : uint8_t {
      kAnywhere,  // the rank has no log
      kSomeHost,  // on a host, for addresses of unknown hosts
      kHost,      // on this host; the NIC's address is unknown
      kAddress,
    };
    Kind kind = Kind::kAnywhere;
    std::string host;
    IpAddress address;

    friend auto operator<=>(const Place&, const Place&) = default;
  };

  // What all channels between two places have in common.
  struct Candidates {
    uint32_t job = 0;
    bool is_one_job = true;
    std::array<RankName, 2> ranks;  // sender, receiver
    std::array<bool, 2> is_one_rank = {true, true};

    void Merge(const Candidates& other);
  };

  // A channel of a communicator between two ranks: sender and receiver.
  struct ChannelKey {
    int communicator = -1;
    int channel = -1;
    int connection = 0;
    std::array<RankName, 2> ranks;

    friend auto operator<=>(const ChannelKey&, const ChannelKey&) = default;
  };
  // Each log describes its own end. Empty: no log does.
  struct ChannelEnds {
    std::array<std::set<Place>, 2> places;
    bool is_possible = false;
  };
  class Collector;

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
  void AddJob(uint32_t number, const Job& job);
  std::set<Place> PlacesOf(const JobRank& rank, int net_device) const;
  std::set<Place> PlacesOf(const Job& job, const RankName& name) const;
  std::vector<Place> PlacesAt(const IpAddress& address) const;

  const HostIndex& hosts_;
  const JobIndex& index_;
  std::map<std::pair<Place, Place>, Candidates> candidates_;  // by places of sender and receiver
  std::set<uint32_t> granted_stripes_;
  std::map<Way, std::vector<Stream>> granted_;  // connections that carry clear-to-sends
};

}  // namespace rocescope
