// SPDX-License-Identifier: BSD-3-Clause
// Indexes the channels of logs without queue pairs by the places of their two ends. The index
// depends on host facts only, not on observed traffic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analytics/job/communicator.h"
#include "analytics/job/host_index.h"
#include "analytics/job/job_index.h"

namespace rocescope {

// How precisely the logs and the topology state where an end of a channel is.
enum class ChannelPlace : uint8_t {
  kAnywhere,  // the rank has no log
  kSomeHost,  // on a host, for addresses of unknown hosts
  kHost,      // on this host; the NIC's address is unknown
  kAddress,
};

// Index of the two ends.
inline constexpr size_t kChannelSender = 0;
inline constexpr size_t kChannelReceiver = 1;

// What all channels of a job that can be between two addresses have in common.
struct ChannelMatch {
  uint32_t job = 0;
  std::array<RankName, 2> ranks;
  std::array<bool, 2> is_one_rank = {true, true};
  // The most precise place of any channel, by end.
  std::array<ChannelPlace, 2> placed = {ChannelPlace::kAnywhere, ChannelPlace::kAnywhere};

  // `other` is of the same job.
  void Merge(const ChannelMatch& other);
};

// At most one match per job, ascending by job.
using ChannelMatches = std::vector<ChannelMatch>;

void AddTo(ChannelMatches& all, const ChannelMatch& match);

class ChannelCandidates {
 public:
  ChannelCandidates(const std::vector<Job>& jobs, std::span<const HostNic> nics);

  bool empty() const { return matches_.empty(); }
  // Returns what each job's channels from `sender` to `receiver` have in common. `hosts` contains
  // the hosts of the constructor's jobs and NICs.
  ChannelMatches Between(const IpAddress& sender, const IpAddress& receiver,
                         const HostIndex& hosts) const;

 private:
  using PlaceId = uint32_t;
  struct Place {
    ChannelPlace kind = ChannelPlace::kAnywhere;
    std::string host;  // HostKey
    IpAddress address;

    friend auto operator<=>(const Place&, const Place&) = default;
  };
  class Collector;

  void Add(const std::vector<PlaceId>& senders, const std::vector<PlaceId>& receivers,
           const ChannelMatch& match);
  PlaceId IdOf(Place place);
  std::vector<PlaceId> PlacesOnHost(const JobRank& rank);
  std::vector<PlaceId> PlacesAt(const IpAddress& address, const HostIndex& hosts) const;

  std::map<Place, PlaceId> places_;
  std::vector<ChannelPlace> kinds_;                       // indexed by place
  std::unordered_map<uint64_t, ChannelMatches> matches_;  // by sender's and receiver's place
};

}  // namespace rocescope
