// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/channel_claims.h"

#include <algorithm>

#include "analytics/job/flow_of.h"

namespace rocescope {
namespace {

bool HasGrants(size_t sender, const Connection& connection, const FlowSummaries& flows) {
  const FlowCounts* const granted = CarriedFrom(1 - sender, connection, flows);
  return granted != nullptr && granted->control_messages > 0;
}

}  // namespace

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
  const std::optional<ChannelMatch> match =
      candidates_.Between(connection.endpoints[end_of[kChannelSender]].address,
                          connection.endpoints[end_of[kChannelReceiver]].address, hosts_);
  if (!match || !match->is_one_job) return {};
  const bool is_placed = std::ranges::any_of(
      match->placed, [](ChannelPlace place) { return place >= ChannelPlace::kHost; });
  if (!is_placed) return {};

  EndClaims claims;
  for (const size_t end : {kChannelSender, kChannelReceiver}) {
    double confidence = kChannelPeer;
    if (match->placed[end] == ChannelPlace::kHost) confidence = kChannelHost;
    if (match->placed[end] == ChannelPlace::kAddress) confidence = kChannelNic;
    RankClaim claim{.job = match->job, .source = RankSource::kChannel, .confidence = confidence};
    if (match->is_one_rank[end]) {
      claim.rank = match->ranks[end].rank;
      claim.member = match->ranks[end].member;
    }
    claims[end_of[end]] = claim;
  }
  return claims;
}

void ChannelClaims::Claim(const ConnectionList& connections, const FlowSummaries& flows,
                          const std::vector<bool>& is_open, std::vector<EndClaims>& ends) {
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
