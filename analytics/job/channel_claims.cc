// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/channel_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analytics/job/flow_of.h"
#include "analytics/job/job_periods.h"

namespace rocescope {
namespace {

bool HasGrants(size_t sender, const Connection& connection, const FlowSummaries& flows) {
  const FlowCounts* const granted = CarriedFrom(1 - sender, connection, flows);
  return granted != nullptr && granted->control_messages > 0;
}

// The time of the last packet. Samples can arrive late, so it is only derived from them if nothing
// else shows the connection.
Timestamp LastOf(const Connection& connection, const FlowSummaries& flows) {
  std::optional<Timestamp> last;
  for (size_t end = 0; end < 2; ++end) {
    const FlowCounts* const sent = CarriedFrom(end, connection, flows);
    if (sent == nullptr || sent->last_seen < connection.valid_from) continue;
    last = std::max(last.value_or(sent->last_seen), sent->last_seen);
  }
  return last.value_or(std::max(connection.valid_from, connection.last_seen));
}

}  // namespace

void ChannelClaims::Observe(const ConnectionList& connections, const FlowSummaries& flows) {
  for (const Connection& connection : connections) {
    const std::optional<size_t> sender = DataSenderOf(connection, flows);
    if (!sender) continue;
    const bool has_grants = HasGrants(*sender, connection, flows);
    if (connection.state != ConnectionState::kPaired) {
      OneSided& all = one_sided_[WayOf(*sender, connection)];
      ++(has_grants ? all.grants : all.data);
    }
    if (!has_grants) continue;
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

// Other programs that use the same NICs do not send clear-to-sends. Where packets are sampled, the
// clear-to-sends of a connection are often known, but not that they belong to it.
ChannelClaims::Grant ChannelClaims::GrantOf(size_t sender, const Connection& connection,
                                            const FlowSummaries& flows) const {
  if (HasGrants(sender, connection, flows)) return Grant::kSeen;
  if (granted_stripes_.contains(connection.stripe_group)) return Grant::kSeen;
  // One queue pair of a stripe can carry the clear-to-sends of all.
  const Way way = WayOf(sender, connection);
  const FlowCounts* const data = CarriedFrom(sender, connection, flows);
  const auto granted = granted_.find(way);
  if (data != nullptr && granted != granted_.end()) {
    const Stream stream = StreamOf(*data);
    const bool is_split = std::ranges::any_of(
        granted->second, [&](const Stream& other) { return stream.IsSplitWith(other); });
    if (is_split) return Grant::kSeen;
  }
  if (connection.state == ConnectionState::kPaired) return Grant::kNone;
  const auto one_sided = one_sided_.find(way);
  const bool is_each = one_sided != one_sided_.end() && one_sided->second.grants > 0 &&
                       one_sided->second.grants >= one_sided->second.data;
  return is_each ? Grant::kBetweenNics : Grant::kPossible;
}

std::vector<ChannelClaims::Candidate> ChannelClaims::Find(const ConnectionList& connections,
                                                          const FlowSummaries& flows,
                                                          const std::vector<bool>& is_open) const {
  std::vector<Candidate> found;
  for (size_t i = 0; i < connections.size(); ++i) {
    if (!is_open[i]) continue;
    const Connection& connection = connections[i];
    Candidate one = {.connection = i};
    if (const std::optional<size_t> sender = DataSenderOf(connection, flows)) {
      one.sender = *sender;
      one.grant = GrantOf(*sender, connection, flows);
      if (one.grant == Grant::kNone) continue;
      one.matches = Between(*sender, connection);
    } else {
      const bool is_measured = CarriedFrom(0, connection, flows) != nullptr ||
                               CarriedFrom(1, connection, flows) != nullptr;
      if (is_measured) continue;
      one.grant = Grant::kUnmeasured;
      one.matches = EitherWay(connection);
    }
    std::erase_if(one.matches, [](const ChannelMatch& match) {
      return std::ranges::none_of(match.placed,
                                  [](ChannelPlace place) { return place >= ChannelPlace::kHost; });
    });
    if (!one.matches.empty()) found.push_back(std::move(one));
  }
  return found;
}

ChannelMatches ChannelClaims::Between(size_t sender, const Connection& connection) const {
  return candidates_.Between(connection.endpoints[sender].address,
                             connection.endpoints[1 - sender].address, hosts_);
}

// The connection carries data in one direction and clear-to-sends in the other. Returns the
// channels of both directions, with the ranks in the order of the connection's ends.
ChannelMatches ChannelClaims::EitherWay(const Connection& connection) const {
  ChannelMatches all = Between(0, connection);
  for (ChannelMatch& match : Between(1, connection)) {
    std::swap(match.ranks[0], match.ranks[1]);
    std::swap(match.is_one_rank[0], match.is_one_rank[1]);
    std::swap(match.placed[0], match.placed[1]);
    AddTo(all, match);
  }
  return all;
}

EndClaims ChannelClaims::ClaimsOf(const ChannelMatch& match, const Candidate& candidate,
                                  double most) {
  const std::array<size_t, 2> end_of = {candidate.sender, 1 - candidate.sender};
  if (candidate.grant == Grant::kBetweenNics) most = std::min(most, kChannelSampled);
  if (candidate.grant == Grant::kUnmeasured) most = std::min(most, kChannelUnmeasured);
  if (candidate.grant == Grant::kPossible) most = std::min(most, kChannelNoGrants);
  EndClaims claims;
  for (const size_t end : {kChannelSender, kChannelReceiver}) {
    double confidence = kChannelPeer;
    if (match.placed[end] == ChannelPlace::kHost) confidence = kChannelHost;
    if (match.placed[end] == ChannelPlace::kAddress) confidence = kChannelNic;
    RankClaim claim{
        .job = match.job, .source = RankSource::kChannel, .confidence = std::min(confidence, most)};
    if (match.is_one_rank[end] && candidate.grant != Grant::kPossible) {
      claim.rank = match.ranks[end].rank;
      claim.member = match.ranks[end].member;
    }
    claims[end_of[end]] = claim;
  }
  return claims;
}

void ChannelClaims::Decide(const ConnectionList& connections, const FlowSummaries& flows,
                           std::vector<Candidate> candidates, std::vector<EndClaims>& ends) {
  std::vector<DataSpan> spans;
  std::vector<std::optional<SpanOwner>> owners(candidates.size());
  const bool is_contested = std::ranges::any_of(
      candidates, [](const Candidate& candidate) { return candidate.matches.size() > 1; });
  if (is_contested) {
    std::map<Way, uint32_t> paths;
    for (const Candidate& candidate : candidates) {
      const Connection& connection = connections[candidate.connection];
      const Way way = WayOf(candidate.sender, connection);
      DataSpan& span = spans.emplace_back();
      span.from = connection.valid_from;
      span.until = LastOf(connection, flows);
      span.path = paths.try_emplace(way, static_cast<uint32_t>(paths.size())).first->second;
      for (const ChannelMatch& match : candidate.matches) span.jobs.push_back(match.job);
    }
    Timestamp end = Timestamp::min();
    for (const Connection& connection : connections) end = std::max(end, connection.last_seen);
    owners = OwnersOfSpans(spans, JobOrder(jobs_), end);
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const ChannelMatches& matches = candidate.matches;
    EndClaims& claims = ends[candidate.connection];
    if (matches.size() == 1) {
      claims = ClaimsOf(matches[0], candidate, kChannelNic);
    } else if (owners[i]) {
      const auto match = std::ranges::find(matches, owners[i]->job, &ChannelMatch::job);
      claims =
          ClaimsOf(*match, candidate, owners[i]->is_certain ? kChannelPeriod : kChannelLastPeriod);
    } else {
      ++undecided_[spans[i].jobs];
    }
  }
}

void ChannelClaims::Claim(const ConnectionList& connections, const FlowSummaries& flows,
                          const std::vector<bool>& is_open, std::vector<EndClaims>& ends) {
  Observe(connections, flows);
  Decide(connections, flows, Find(connections, flows, is_open), ends);
  ClaimAcknowledgements(connections, flows, is_open, ends);
}

std::map<uint32_t, std::string> ChannelClaims::Notes() const {
  std::map<uint32_t, std::pair<size_t, std::set<uint32_t>>> of_job;  // connections, other jobs
  for (const auto& [jobs, count] : undecided_) {
    for (const uint32_t job : jobs) {
      of_job[job].first += count;
      of_job[job].second.insert(jobs.begin(), jobs.end());
    }
  }
  std::map<uint32_t, std::string> notes;
  for (auto& [job, found] : of_job) {
    auto& [count, jobs] = found;
    jobs.erase(job);
    notes[job] = fmt::format(
        "{} connection{} can belong to this job or to {}{}, because both use the same NICs and "
        "the NCCL logs contain no queue pair numbers (NCCL_DEBUG_SUBSYS=INIT,NET adds them)",
        count, count == 1 ? "" : "s", jobs_[*jobs.begin()].id,
        jobs.size() == 1 ? "" : fmt::format(" or {} other jobs", jobs.size() - 1));
  }
  return notes;
}

// Handles acknowledgements for an unknown queue pair: they belong to the ranks that exchange data
// between the same NICs at the same time, if no other traffic does.
void ChannelClaims::ClaimAcknowledgements(const ConnectionList& connections,
                                          const FlowSummaries& flows,
                                          const std::vector<bool>& is_open,
                                          std::vector<EndClaims>& ends) {
  // The data that was sent between two NICs, with the ranks; none: unknown.
  struct Sent {
    EndClaims claims;
    Timestamp from;
    Timestamp until;
  };
  const auto are_same = [](const EndClaims& a, const EndClaims& b) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
      return x.has_value() == y.has_value() && (!x || x->IsSameRank(*y));
    });
  };
  std::map<Way, std::vector<Sent>> of_way;
  for (size_t i = 0; i < connections.size(); ++i) {
    const Connection& connection = connections[i];
    const std::optional<size_t> sender = DataSenderOf(connection, flows);
    if (!sender) continue;
    const EndClaims claims = {ends[i][*sender], ends[i][1 - *sender]};
    std::vector<Sent>& all = of_way[WayOf(*sender, connection)];
    const auto same =
        std::ranges::find_if(all, [&](const Sent& sent) { return are_same(sent.claims, claims); });
    if (same == all.end()) {
      all.push_back(
          {.claims = claims, .from = connection.valid_from, .until = connection.last_seen});
    } else {
      same->from = std::min(same->from, connection.valid_from);
      same->until = std::max(same->until, connection.last_seen);
    }
  }
  for (size_t i = 0; i < connections.size(); ++i) {
    const Connection& connection = connections[i];
    // Without a partner, only packets to end 0 are known.
    const FlowCounts* const sent = CarriedFrom(1, connection, flows);
    if (!is_open[i] || ends[i][0] || ends[i][1] || sent == nullptr) continue;
    if (connection.state == ConnectionState::kPaired) continue;
    if (sent->payload_bytes > 0 || sent->ClassPackets(OperationClass::kAcknowledge) == 0) continue;
    const auto at = of_way.find(WayOf(0, connection));
    if (at == of_way.end()) continue;
    const EndClaims* only = nullptr;
    bool is_one = true;
    for (const Sent& data : at->second) {
      if (data.until < connection.valid_from || connection.last_seen < data.from) continue;
      is_one = only == nullptr;
      only = &data.claims;
      if (!is_one) break;
    }
    if (only == nullptr || !is_one || !(*only)[0] || !(*only)[1]) continue;
    for (size_t end = 0; end < 2; ++end) {
      const std::optional<RankClaim>& claim = (*only)[end];
      if (claim->source != RankSource::kChannel) continue;
      ends[i][end] = claim;
      ends[i][end]->confidence = std::min(claim->confidence, kChannelAcknowledged);
    }
  }
}

}  // namespace rocescope
