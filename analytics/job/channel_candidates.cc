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

constexpr size_t kMaxAdded = 65'536;  // limits the memory

// What identifies a channel among those with one number.
struct ChannelKey {
  int communicator = -1;
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
    for (const JobRank& rank : job_.ranks) AddLines(rank);
    const auto number = [](const Line& line) {
      return std::pair(line.channel->channel, line.channel->connection);
    };
    std::ranges::stable_sort(lines_, {}, number);
    for (auto first = lines_.begin(); first != lines_.end();) {
      const auto last = std::find_if(
          first, lines_.end(), [&](const Line& line) { return number(line) != number(*first); });
      AddChannels(std::span(first, last));
      first = last;
    }
  }

 private:
  // A line of the log of a rank.
  struct Line {
    const JobRank* rank = nullptr;
    const JobChannel* channel = nullptr;
    uint32_t places = 0;  // index into places_
  };

  // One end of a channel in one of the communicators that the line can mean.
  struct End {
    ChannelKey key;
    uint32_t line = 0;    // index into the lines
    uint32_t places = 0;  // index into places_
    uint8_t own = 0;
  };

  void AddLines(const JobRank& rank) {
    std::map<int, uint32_t> places_of_device;
    for (const JobChannel& channel : rank.channels) {
      const bool is_listed = std::ranges::all_of(channel.possible, [&](const auto& possible) {
        return IsListed(rank, RanksOf(channel, possible)[kChannelSender]);
      });
      if (is_listed) continue;
      const auto [at, is_new] = places_of_device.try_emplace(channel.net_device, places_.size());
      if (is_new) places_.push_back(PlacesOf(rank, channel.net_device));
      lines_.push_back({.rank = &rank, .channel = &channel, .places = at->second});
    }
  }

  static uint8_t OwnEnd(const JobChannel& channel) {
    return static_cast<uint8_t>(channel.is_send ? kChannelSender : kChannelReceiver);
  }

  std::array<RankName, 2> RanksOf(const JobChannel& channel, const JobChannelPeer& possible) const {
    const JobPeer& peer = possible.peer;
    const uint8_t own = OwnEnd(channel);
    std::array<RankName, 2> ranks;
    ranks[own] = index_.Complete(number_, {.rank = peer.own_rank, .member = peer.own_member});
    ranks[1 - own] = index_.Complete(number_, {.rank = peer.peer_rank, .member = peer.peer_member});
    return ranks;
  }

  // Adds the channels with one number.
  void AddChannels(std::span<const Line> lines) {
    std::vector<End> ends;
    for (uint32_t i = 0; i < lines.size(); ++i) {
      const Line& line = lines[i];
      for (const JobChannelPeer& possible : line.channel->possible) {
        const std::array<RankName, 2> ranks = RanksOf(*line.channel, possible);
        if (IsListed(*line.rank, ranks[kChannelSender])) continue;
        ends.push_back({.key = {.communicator = possible.communicator, .ranks = ranks},
                        .line = i,
                        .places = line.places,
                        .own = OwnEnd(*line.channel)});
      }
    }
    std::ranges::sort(ends, {}, &End::key);
    std::vector<bool> is_confirmed(lines.size());
    ForEachChannel(ends, [&](std::span<const End> both) {
      if (!HasBoth(both)) return;
      for (const End& end : both) is_confirmed[end.line] = true;
    });
    ForEachChannel(ends, [&](std::span<const End> both) {
      // If a line does not identify its communicator, the log of the other end may: it contains the
      // same channel.
      const bool is_possible = HasBoth(both) || !std::ranges::all_of(both, [&](const End& end) {
                                 return is_confirmed[end.line];
                               });
      if (is_possible) AddChannel(both);
    });
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
  static void ForEachChannel(const std::vector<End>& ends, const Visit& visit) {
    for (auto first = ends.begin(); first != ends.end();) {
      const auto last =
          std::find_if(first, ends.end(), [&](const End& end) { return end.key != first->key; });
      visit(std::span(first, last));
      first = last;
    }
  }

  static bool HasBoth(std::span<const End> ends) {
    return std::ranges::any_of(ends, [&](const End& end) { return end.own != ends[0].own; });
  }

  void AddChannel(std::span<const End> ends) {
    std::array<std::set<uint32_t>, 2> lists;  // indices into places_
    for (const End& end : ends) lists[end.own].insert(end.places);
    // Most channels between two ranks, and those in other communicators, are at the same places.
    if (added_.size() > kMaxAdded) added_.clear();
    if (!added_.emplace(ends[0].key.ranks, lists).second) return;
    std::array<std::vector<PlaceId>, 2> places;
    for (size_t end = 0; end < 2; ++end) {
      for (const uint32_t list : lists[end]) {
        places[end].insert(places[end].end(), places_[list].begin(), places_[list].end());
      }
      std::ranges::sort(places[end]);
      places[end].erase(std::ranges::unique(places[end]).begin(), places[end].end());
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
  std::vector<Line> lines_;
  std::set<std::pair<std::array<RankName, 2>, std::array<std::set<uint32_t>, 2>>> added_;
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
