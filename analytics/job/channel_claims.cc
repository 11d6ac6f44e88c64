// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/channel_claims.h"

#include <algorithm>
#include <iterator>

#include "analytics/job/flow_of.h"
#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

constexpr size_t kSender = 0;
constexpr size_t kReceiver = 1;

bool IsSame(const RankName& a, const RankName& b) {
  return a.rank == b.rank && (a.rank >= 0 || a.member == b.member);
}

bool HasGrants(size_t sender, const Connection& connection, const FlowSummaries& flows) {
  const FlowCounts* const granted = CarriedFrom(1 - sender, connection, flows);
  return granted != nullptr && granted->control_messages > 0;
}

}  // namespace

ChannelClaims::ChannelClaims(const std::vector<Job>& jobs, const HostIndex& hosts,
                             const JobIndex& index)
    : hosts_(hosts), index_(index) {
  for (uint32_t j = 0; j < jobs.size(); ++j) AddJob(j, jobs[j]);
}

// Collects the channels of one job from the logs of both ends.
class ChannelClaims::Collector {
 public:
  Collector(const ChannelClaims& claims, uint32_t number, const Job& job)
      : claims_(claims), number_(number), job_(job) {}

  std::map<ChannelKey, ChannelEnds> Collect() {
    for (const JobRank& rank : job_.ranks) {
      for (const JobChannel& channel : rank.channels) {
        if (!IsListed(rank, channel)) AddEnd(rank, channel);
      }
    }
    for (const JobRank& rank : job_.ranks) KeepPossible(rank.channels);
    std::erase_if(all_, [](const auto& one) { return !one.second.is_possible; });
    for (auto& [key, ends] : all_) {
      for (size_t end = 0; end < 2; ++end) {
        if (ends.places[end].empty()) ends.places[end] = claims_.PlacesOf(job_, key.ranks[end]);
      }
    }
    return std::move(all_);
  }

 private:
  ChannelKey KeyOf(const JobChannel& channel) const {
    ChannelKey key = {.communicator = channel.communicator,
                      .channel = channel.channel,
                      .connection = channel.connection};
    const size_t own = OwnEnd(channel);
    key.ranks[own] = {.rank = channel.peer.own_rank, .member = channel.peer.own_member};
    key.ranks[1 - own] = {.rank = channel.peer.peer_rank, .member = channel.peer.peer_member};
    for (RankName& name : key.ranks) name = claims_.index_.Complete(number_, name);
    return key;
  }

  static size_t OwnEnd(const JobChannel& channel) { return channel.is_send ? kSender : kReceiver; }

  // A log with queue pairs contains those of all connections on which its rank sends.
  bool IsListed(const JobRank& rank, const JobChannel& channel) const {
    const int sender = KeyOf(channel).ranks[kSender].member;
    const JobRank& listing = sender >= 0 ? job_.ranks[static_cast<size_t>(sender)] : rank;
    return !listing.queue_pairs.empty();
  }

  void AddEnd(const JobRank& rank, const JobChannel& channel) {
    all_[KeyOf(channel)].places[OwnEnd(channel)].merge(claims_.PlacesOf(rank, channel.net_device));
  }

  // If a line does not identify its communicator, the log of the other end may: it contains the
  // same channel.
  void KeepPossible(const std::vector<JobChannel>& channels) {
    for (auto first = channels.begin(); first != channels.end();) {
      const auto last = std::find_if(
          first, channels.end(), [&](const JobChannel& one) { return one.line != first->line; });
      std::vector<ChannelEnds*> of_line;
      for (; first != last; ++first) {
        const auto found = all_.find(KeyOf(*first));
        if (found != all_.end()) of_line.push_back(&found->second);
      }
      const auto has_both = [](const ChannelEnds* ends) {
        return !ends->places[kSender].empty() && !ends->places[kReceiver].empty();
      };
      const bool is_confirmed = std::ranges::any_of(of_line, has_both);
      for (ChannelEnds* ends : of_line) {
        if (!is_confirmed || has_both(ends)) ends->is_possible = true;
      }
    }
  }

  const ChannelClaims& claims_;
  const uint32_t number_;
  const Job& job_;
  std::map<ChannelKey, ChannelEnds> all_;
};

void ChannelClaims::AddJob(uint32_t number, const Job& job) {
  for (const auto& [key, ends] : Collector(*this, number, job).Collect()) {
    const Candidates one = {.job = number, .ranks = key.ranks};
    for (const Place& sender : ends.places[kSender]) {
      for (const Place& receiver : ends.places[kReceiver]) {
        const auto [at, is_new] = candidates_.try_emplace({sender, receiver}, one);
        if (!is_new) at->second.Merge(one);
      }
    }
  }
}

std::set<ChannelClaims::Place> ChannelClaims::PlacesOf(const JobRank& rank, int net_device) const {
  std::set<Place> places;
  const auto ports = rank.net_devices.find(net_device);
  if (ports != rank.net_devices.end()) {
    for (const NicPort& port : ports->second) {
      const std::vector<IpAddress> addresses = hosts_.AddressesOf(rank.host, port);
      for (const IpAddress& address : addresses) {
        places.insert({.kind = Place::Kind::kAddress, .host = "", .address = address});
      }
    }
  }
  if (!places.empty()) return places;
  return {{.kind = Place::Kind::kHost, .host = HostKey(rank.host), .address = {}},
          {.kind = Place::Kind::kSomeHost, .host = "", .address = {}}};
}

// Returns the places of a rank whose log does not contain the channel, or that has no log.
std::set<ChannelClaims::Place> ChannelClaims::PlacesOf(const Job& job, const RankName& name) const {
  if (name.member < 0) return {Place{}};
  const JobRank& rank = job.ranks[static_cast<size_t>(name.member)];
  return {{.kind = Place::Kind::kHost, .host = HostKey(rank.host), .address = {}},
          {.kind = Place::Kind::kSomeHost, .host = "", .address = {}}};
}

void ChannelClaims::Candidates::Merge(const Candidates& other) {
  is_one_job = is_one_job && other.is_one_job && job == other.job;
  for (size_t end = 0; end < 2; ++end) {
    is_one_rank[end] = is_one_rank[end] && other.is_one_rank[end] && job == other.job &&
                       IsSame(ranks[end], other.ranks[end]);
  }
}

// Returns the places whose channels can end at the address.
std::vector<ChannelClaims::Place> ChannelClaims::PlacesAt(const IpAddress& address) const {
  std::vector<Place> places = {{.kind = Place::Kind::kAddress, .host = "", .address = address},
                               {.kind = Place::Kind::kAnywhere, .host = "", .address = {}}};
  std::set<std::string> keys;
  for (const HostEntry* host : hosts_.At(address)) keys.insert(HostKey(host->name));
  if (keys.empty()) places.push_back({.kind = Place::Kind::kSomeHost, .host = "", .address = {}});
  for (const std::string& key : keys) {
    places.push_back({.kind = Place::Kind::kHost, .host = key, .address = {}});
  }
  return places;
}

void ChannelClaims::Observe(const ConnectionList& connections, const FlowSummaries& flows) {
  for (const Connection& connection : connections) {
    const std::optional<size_t> sender = DataSenderOf(connection, flows);
    if (!sender || !HasGrants(*sender, connection, flows)) continue;
    if (connection.stripe_group != 0) granted_stripes_.insert(connection.stripe_group);
    const FlowCounts* const data = CarriedFrom(*sender, connection, flows);
    if (data != nullptr) granted_[WayOf(*sender, connection)].push_back(StreamOf(*data));
  }
}

ChannelClaims::Way ChannelClaims::WayOf(size_t sender, const Connection& connection) {
  const auto& ends = connection.endpoints;
  return {ends[sender].segment, ends[sender].address, ends[1 - sender].address};
}

ChannelClaims::Stream ChannelClaims::StreamOf(const FlowCounts& counts) {
  return {.messages = counts.messages - counts.control_messages,
          .bytes = counts.DataBytes(),
          .first_seen = counts.first_seen,
          .last_seen = counts.last_seen};
}

// If a library splits each message over several queue pairs, these carry the same number of
// messages and bytes at the same time, except for packets that were not observed.
bool ChannelClaims::Stream::IsSplitWith(const Stream& other) const {
  // Equal sums of this many messages are no coincidence, even if congestion delays one queue pair.
  constexpr uint64_t kEnoughMessages = 8;
  const bool is_concurrent = first_seen <= other.last_seen && other.first_seen <= last_seen;
  if (is_concurrent && messages >= kEnoughMessages && messages == other.messages &&
      bytes == other.bytes) {
    return true;
  }
  constexpr uint64_t kTolerance = 20;  // one part in this number
  constexpr int64_t kTimeTolerance = 10;
  const auto are_near = [](uint64_t a, uint64_t b, uint64_t least) {
    return std::max(a, b) - std::min(a, b) <= std::max(least, std::max(a, b) / kTolerance);
  };
  const Duration span = (other.last_seen - other.first_seen) / kTimeTolerance;
  const auto are_near_in_time = [&](Timestamp a, Timestamp b) {
    return std::max(a, b) - std::min(a, b) <= span;
  };
  return are_near(messages, other.messages, 1) && are_near(bytes, other.bytes, 0) &&
         are_near_in_time(first_seen, other.first_seen) &&
         are_near_in_time(last_seen, other.last_seen);
}

// Other programs that use the same NICs do not send clear-to-sends.
bool ChannelClaims::IsGranted(size_t sender, const Connection& connection,
                              const FlowSummaries& flows) const {
  if (HasGrants(sender, connection, flows)) return true;
  if (granted_stripes_.contains(connection.stripe_group)) return true;
  // One queue pair of a stripe can carry the clear-to-sends of all.
  const FlowCounts* const data = CarriedFrom(sender, connection, flows);
  const auto granted = granted_.find(WayOf(sender, connection));
  if (data == nullptr || granted == granted_.end()) return false;
  const Stream stream = StreamOf(*data);
  return std::ranges::any_of(granted->second,
                             [&](const Stream& other) { return stream.IsSplitWith(other); });
}

EndClaims ChannelClaims::Of(const Connection& connection, const FlowSummaries& flows) const {
  const std::optional<size_t> sender = DataSenderOf(connection, flows);
  if (!sender || !IsGranted(*sender, connection, flows)) return {};

  const std::array<size_t, 2> end_of = {*sender, 1 - *sender};
  std::optional<Candidates> all;
  // How well the best candidate is placed at each end.
  std::array<Place::Kind, 2> placed = {Place::Kind::kAnywhere, Place::Kind::kAnywhere};
  for (const Place& from : PlacesAt(connection.endpoints[end_of[kSender]].address)) {
    for (const Place& to : PlacesAt(connection.endpoints[end_of[kReceiver]].address)) {
      const auto found = candidates_.find({from, to});
      if (found == candidates_.end()) continue;
      if (all) {
        all->Merge(found->second);
      } else {
        all = found->second;
      }
      placed[kSender] = std::max(placed[kSender], from.kind);
      placed[kReceiver] = std::max(placed[kReceiver], to.kind);
    }
  }
  const bool is_placed =
      std::ranges::any_of(placed, [](Place::Kind kind) { return kind >= Place::Kind::kHost; });
  if (!all || !all->is_one_job || !is_placed) return {};

  EndClaims claims;
  for (const size_t end : {kSender, kReceiver}) {
    double confidence = kChannelPeer;
    if (placed[end] == Place::Kind::kHost) confidence = kChannelHost;
    if (placed[end] == Place::Kind::kAddress) confidence = kChannelNic;
    RankClaim claim{.job = all->job, .source = RankSource::kChannel, .confidence = confidence};
    if (all->is_one_rank[end]) {
      claim.rank = all->ranks[end].rank;
      claim.member = all->ranks[end].member;
    }
    claims[end_of[end]] = claim;
  }
  return claims;
}

void ChannelClaims::Claim(const ConnectionList& connections, const FlowSummaries& flows,
                          const std::vector<bool>& is_open, std::vector<EndClaims>& ends) {
  if (candidates_.empty()) return;
  Observe(connections, flows);
  for (size_t i = 0; i < connections.size(); ++i) {
    if (is_open[i]) ends[i] = Of(connections[i], flows);
  }
  ClaimAcknowledgements(connections, flows, is_open, ends);
}

// Handles acknowledgements for an unknown queue pair: they belong to the ranks that exchange data
// between the same NICs, if no other traffic does.
void ChannelClaims::ClaimAcknowledgements(const ConnectionList& connections,
                                          const FlowSummaries& flows,
                                          const std::vector<bool>& is_open,
                                          std::vector<EndClaims>& ends) {
  std::map<Way, EndClaims> of_way;  // sender and receiver; none: unknown, or several
  for (size_t i = 0; i < connections.size(); ++i) {
    const std::optional<size_t> sender = DataSenderOf(connections[i], flows);
    if (!sender) continue;
    const EndClaims claims = {ends[i][*sender], ends[i][1 - *sender]};
    const auto [at, is_new] = of_way.try_emplace(WayOf(*sender, connections[i]), claims);
    if (is_new) continue;
    const bool is_same = std::ranges::equal(at->second, claims, [](const auto& a, const auto& b) {
      return a && b && a->IsSameRank(*b);
    });
    if (!is_same) at->second = {};
  }
  for (size_t i = 0; i < connections.size(); ++i) {
    // Without a partner, only packets to end 0 are known.
    const FlowCounts* const sent = CarriedFrom(1, connections[i], flows);
    if (!is_open[i] || ends[i][0] || ends[i][1] || sent == nullptr) continue;
    if (connections[i].state == ConnectionState::kPaired) continue;
    if (sent->payload_bytes > 0 || sent->ClassPackets(OperationClass::kAcknowledge) == 0) continue;
    const auto at = of_way.find(WayOf(0, connections[i]));
    if (at == of_way.end()) continue;
    for (size_t end = 0; end < 2; ++end) {
      const std::optional<RankClaim>& claim = at->second[end];
      if (!claim || claim->source != RankSource::kChannel) continue;
      ends[i][end] = claim;
      ends[i][end]->confidence = std::min(claim->confidence, kChannelAcknowledged);
    }
  }
}

}  // namespace rocescope
