// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/rank_edges.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analytics/job/flow_of.h"

namespace rocescope {
namespace {

// Sorts ranks by number, then those without a number by their logs.
int64_t KeyOf(const RankClaim& claim) {
  return claim.rank >= 0 ? claim.rank : (int64_t{1} << 32) + claim.member;
}

struct EdgeSum {
  RankEdge edge;
  bool is_new = true;
  std::vector<std::pair<Qpn, Qpn>> qpns;  // source and destination QPNs of connections with data
};

using Sums = std::map<std::tuple<uint32_t, int64_t, int64_t>, EdgeSum>;  // job, source, destination

void Add(const Connection& connection, const EndClaims& claims, size_t from,
         const FlowSummaries& flows, Sums& sums) {
  const FlowCounts* forward = CarriedFrom(from, connection, flows);
  if (forward == nullptr) return;
  const FlowCounts* backward = CarriedFrom(1 - from, connection, flows);
  const RankClaim& source = *claims[from];
  const RankClaim& destination = *claims[1 - from];
  EdgeSum& sum = sums[{source.job, KeyOf(source), KeyOf(destination)}];
  RankEdge& edge = sum.edge;
  const DirectionData data = DataOf(*forward, backward);
  const bool first = std::exchange(sum.is_new, false);
  edge.source_rank = source.rank;
  edge.destination_rank = destination.rank;
  edge.source_member = source.member;
  edge.destination_member = destination.member;
  edge.bytes += data.bytes;
  edge.messages += data.messages;
  edge.control_bytes += data.control_bytes;
  edge.control_messages += data.control_messages;
  edge.missing += forward->missing;
  edge.retransmitted += forward->retransmitted;
  edge.ce_marked += forward->ce_marked;
  if (backward != nullptr) edge.cnps += backward->ClassPackets(OperationClass::kCnp);
  edge.first_seen = first ? forward->first_seen : std::min(edge.first_seen, forward->first_seen);
  edge.last_seen = first ? forward->last_seen : std::max(edge.last_seen, forward->last_seen);
  // A connection that carried only clear-to-sends is no evidence for this edge's data.
  if (data.IsEmpty()) return;
  const double confidence =
      std::min({connection.confidence, source.confidence, destination.confidence});
  edge.confidence = sum.qpns.empty() ? confidence : std::min(edge.confidence, confidence);
  sum.qpns.push_back({*connection.endpoints[from].qpn, *connection.endpoints[1 - from].qpn});
}

}  // namespace

DirectionData DataOf(const FlowCounts& forward, const FlowCounts* backward) {
  const uint64_t own = forward.messages - forward.control_messages;
  const uint64_t asked = forward.ClassPackets(OperationClass::kReadRequest);
  const uint64_t served =
      backward == nullptr ? 0 : backward->ClassPackets(OperationClass::kReadRequest);
  return {.bytes = forward.DataBytes(),
          .messages = own - std::min(own, asked) + served,
          .control_bytes = forward.control_bytes,
          .control_messages = forward.control_messages};
}

std::vector<std::vector<RankEdge>> EdgesOf(size_t jobs, const ConnectionList& connections,
                                           const std::vector<EndClaims>& claims,
                                           const FlowSummaries& flows) {
  Sums sums;
  for (size_t i = 0; i < connections.size(); ++i) {
    // An edge lists queue pairs at both ends; without a partner there is none to list.
    if (connections[i].state != ConnectionState::kPaired) continue;
    if (!connections[i].endpoints[0].qpn || !connections[i].endpoints[1].qpn) continue;
    const auto& [a, b] = claims[i];
    if (!a || !b || a->job != b->job) continue;
    if (!a->IsRankKnown() || !b->IsRankKnown()) continue;
    for (size_t from = 0; from < 2; ++from) Add(connections[i], claims[i], from, flows, sums);
  }
  std::vector<std::vector<RankEdge>> edges(jobs);
  for (auto& [key, sum] : sums) {
    if (sum.edge.messages == 0 && sum.edge.bytes == 0) continue;  // only control messages
    std::ranges::sort(sum.qpns);
    for (const auto& [source, destination] : sum.qpns) {
      sum.edge.source_qpns.push_back(source);
      sum.edge.destination_qpns.push_back(destination);
    }
    edges[std::get<0>(key)].push_back(std::move(sum.edge));
  }
  return edges;
}

}  // namespace rocescope
