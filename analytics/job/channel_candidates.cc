// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/channel_candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

bool IsSame(const RankName& a, const RankName& b) {
  return a.rank == b.rank && (a.rank >= 0 || a.member == b.member);
}

uint64_t KeyOf(uint32_t sender, uint32_t receiver) { return uint64_t{sender} << 32 | receiver; }

// A channel of a communicator between two ranks.
struct ChannelKey {
  int communicator = -1;
  int channel = -1;
  int connection = 0;
  std::array<RankName, 2> ranks;

  friend auto operator<=>(const ChannelKey&, const ChannelKey&) = default;
};

}  // namespace

void ChannelMatch::Merge(const ChannelMatch& other) {
  for (size_t end = 0; end < 2; ++end) {
    is_one_rank[end] =
        is_one_rank[end] && other.is_one_rank[end] && IsSame(ranks[end], other.ranks[end]);
    placed[end] = std::max(placed[end], other.placed[end]);
  }
}

void AddTo(ChannelMatches& all, const ChannelMatch& match) {
  const auto at = std::ranges::lower_bound(all, match.job, {}, &ChannelMatch::job);
  if (at == all.end() || at->job != match.job) {
    all.insert(at, match);
  } else {
    at->Merge(match);
  }
}

// Joins what the logs of both ends report about each channel of a job.
class ChannelCandidates::Collector {
 public:
  Collector(ChannelCandidates& candidates, const HostIndex& hosts, const JobIndex& index,
            uint32_t number, const Job& job)
      : candidates_(candidates), hosts_(hosts), index_(index), number_(number), job_(job) {}

  void Collect() {
    for (const JobRank& rank : job_.ranks) AddEnds(rank);
    std::ranges::sort(ends_, {}, &End::key);
    std::vector<bool> is_confirmed(lines_);
    ForEachChannel([&](std::span<const End> ends) {
      if (!HasBoth(ends)) return;
      for (const End& end : ends) is_confirmed[end.line] = true;
    });
    ForEachChannel([&](std::span<const End> ends) {
      // If a line does not identify its communicator, the log of the other end may: it contains the
      // same channel.
      const bool is_possible = HasBoth(ends) || !std::ranges::all_of(ends, [&](const End& end) {
                                 return is_confirmed[end.line];
                               });
      if (is_possible) AddChannel(ends);
    });
  }

 private:
  // One end of a channel, from the log of its rank.
  struct End {
    ChannelKey key;
    uint32_t line = 0;    // number of the line in all logs of the job
    uint32_t places = 0;  // index into places_
    uint8_t own = 0;
  };

  void AddEnds(const JobRank& rank) {
    std::map<int, uint32_t> places_of_device;
    size_t last_line = 0;
    bool is_first = true;
    for (const JobChannel& channel : rank.channels) {
      if (is_first || channel.line != last_line) ++lines_;
      is_first = false;
      last_line = channel.line;
      End end = {.line = lines_ - 1,
                 .own = static_cast<uint8_t>(channel.is_send ? kChannelSender : kChannelReceiver)};
      end.key = {.communicator = channel.communicator,
                 .channel = channel.channel,
                 .connection = channel.connection};
      end.key.ranks[end.own] = {.rank = channel.peer.own_rank, .member = channel.peer.own_member};
      end.key.ranks[1 - end.own] = {.rank = channel.peer.peer_rank,
                                    .member = channel.peer.peer_member};
      for (RankName& name : end.key.ranks) name = index_.Complete(number_, name);
      if (IsListed(rank, end.key.ranks[kChannelSender])) continue;
      const auto [at, is_new] = places_of_device.try_emplace(channel.net_device, places_.size());
      if (is_new) places_.push_back(PlacesOf(rank, channel.net_device));
      end.places = at->second;
      ends_.push_back(end);
    }
  }

  // A log with queue pairs contains those of all connections on which its rank sends.
  bool IsListed(const JobRank& rank, const RankName& sender) const {
    const JobRank& listing =
        sender.member >= 0 ? job_.ranks[static_cast<size_t>(sender.member)] : rank;
    return !listing.queue_pairs.empty();
  }

  std::vector<PlaceId> PlacesOf(const JobRank& rank, int net_device) const {
    std::set<IpAddress> addresses;
    const auto ports = rank.net_devices.find(net_device);
    if (ports != rank.net_devices.end()) {
      for (const NicPort& port : ports->second) {
        const std::vector<IpAddress> found = hosts_.AddressesOf(rank.host, port);
        addresses.insert(found.begin(), found.end());
      }
    }
    if (addresses.empty()) return candidates_.PlacesOnHost(rank);
    std::vector<PlaceId> places;
    for (const IpAddress& address : addresses) {
      places.push_back(
          candidates_.IdOf({.kind = ChannelPlace::kAddress, .host = "", .address = address}));
    }
    return places;
  }

  // Places of a rank whose log does not contain the channel, or that has no log.
  std::vector<PlaceId> PlacesOf(const RankName& name) const {
    if (name.member < 0) return {candidates_.IdOf({})};
    return candidates_.PlacesOnHost(job_.ranks[static_cast<size_t>(name.member)]);
  }

  template <typename Visit>
  void ForEachChannel(const Visit& visit) const {
    for (auto first = ends_.begin(); first != ends_.end();) {
      const auto last =
          std::find_if(first, ends_.end(), [&](const End& end) { return end.key != first->key; });
      visit(std::span(first, last));
      first = last;
    }
  }

  static bool HasBoth(std::span<const End> ends) {
    return std::ranges::any_of(ends, [&](const End& end) { return end.own != ends[0].own; });
  }

  void AddChannel(std::span<const End> ends) {
    std::array<std::vector<PlaceId>, 2> places;
    for (const End& end : ends) {
      for (const PlaceId place : places_[end.places]) {
        if (std::ranges::find(places[end.own], place) == places[end.own].end()) {
          places[end.own].push_back(place);
        }
      }
    }
    for (size_t end = 0; end < 2; ++end) {
      if (places[end].empty()) places[end] = PlacesOf(ends[0].key.ranks[end]);
    }
    candidates_.Add(places[kChannelSender], places[kChannelReceiver],
                    {.job = number_, .ranks = ends[0].key.ranks});
  }

  ChannelCandidates& candidates_;
  const HostIndex& hosts_;
  const JobIndex& index_;
  const uint32_t number_;
  const Job& job_;
  uint32_t lines_ = 0;
  std::vector<End> ends_;
  std::vector<std::vector<PlaceId>> places_;  // device of a rank; indexed by End::places
};

ChannelCandidates::ChannelCandidates(const std::vector<Job>& jobs, std::span<const HostNic> nics) {
  const HostIndex hosts(jobs, nics);
  const JobIndex index(jobs, hosts);
  for (uint32_t j = 0; j < jobs.size(); ++j) Collector(*this, hosts, index, j, jobs[j]).Collect();
}

ChannelCandidates::PlaceId ChannelCandidates::IdOf(Place place) {
  const ChannelPlace kind = place.kind;
  const auto [at, is_new] =
      places_.try_emplace(std::move(place), static_cast<PlaceId>(places_.size()));
  if (is_new) kinds_.push_back(kind);
  return at->second;
}

std::vector<ChannelCandidates::PlaceId> ChannelCandidates::PlacesOnHost(const JobRank& rank) {
  return {IdOf({.kind = ChannelPlace::kHost, .host = HostKey(rank.host), .address = {}}),
          IdOf({.kind = ChannelPlace::kSomeHost, .host = "", .address = {}})};
}

void ChannelCandidates::Add(const std::vector<PlaceId>& senders,
                            const std::vector<PlaceId>& receivers, const ChannelMatch& match) {
  for (const PlaceId sender : senders) {
    for (const PlaceId receiver : receivers) {
      ChannelMatch placed = match;
      placed.placed = {kinds_[sender], kinds_[receiver]};
      AddTo(matches_[KeyOf(sender, receiver)], placed);
    }
  }
}

// Returns the places whose channels can end at the address.
std::vector<ChannelCandidates::PlaceId> ChannelCandidates::PlacesAt(const IpAddress& address,
                                                                    const HostIndex& hosts) const {
  std::vector<Place> all = {{.kind = ChannelPlace::kAddress, .host = "", .address = address}, {}};
  std::set<std::string> keys;
  for (const HostEntry* host : hosts.At(address)) keys.insert(HostKey(host->name));
  for (const std::string& key : keys) {
    all.push_back({.kind = ChannelPlace::kHost, .host = key, .address = {}});
  }
  if (keys.empty()) all.push_back({.kind = ChannelPlace::kSomeHost, .host = "", .address = {}});
  std::vector<PlaceId> ids;
  for (const Place& place : all) {
    if (const auto at = places_.find(place); at != places_.end()) ids.push_back(at->second);
  }
  return ids;
}

ChannelMatches ChannelCandidates::Between(const IpAddress& sender, const IpAddress& receiver,
                                          const HostIndex& hosts) const {
  ChannelMatches all;
  const std::vector<PlaceId> receivers = PlacesAt(receiver, hosts);
  for (const PlaceId from : PlacesAt(sender, hosts)) {
    for (const PlaceId to : receivers) {
      const auto found = matches_.find(KeyOf(from, to));
      if (found == matches_.end()) continue;
      for (const ChannelMatch& match : found->second) AddTo(all, match);
    }
  }
  return all;
}

}  // namespace rocescope
