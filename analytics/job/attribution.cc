// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/attribution.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

using EndpointKey =
    std::pair<IpAddress, Qpn>;  // tenants reuse addresses, but hosts' logs know none

// A queue pair that host data gives to a rank.
struct Claim {
  RankClaim rank;
  const JobRank* owner = nullptr;        // whose process holds it; PXN: another rank than it serves
  const JobQueuePair* stated = nullptr;  // what the rank's log says of the peer
};

// What each kind of statement is worth.
constexpr double kOwnLog = 0.99;
constexpr double kOwnKernel = 0.995;  // the kernel's list cannot be out of order
constexpr double kPeerExact = 0.99;
constexpr double kPeerOrdered = 0.95;   // and the address is one of that rank's
constexpr double kPeerByAddress = 0.9;  // the only candidate with that address
constexpr double kPeerUnplaced = 0.8;   // nobody's log names the address
constexpr double kReceived = 0.8;       // by addresses and direction; no log names the number

// The out-of-band address often belongs to the same NIC; it serves where no other is known.
std::vector<IpAddress> AddressesOf(const JobRank& rank) {
  if (!rank.addresses.empty() || !rank.oob_address) return rank.addresses;
  return {*rank.oob_address};
}

bool HasAddress(const JobRank& rank, const IpAddress& address) {
  return (rank.oob_address && *rank.oob_address == address) ||
         std::find(rank.addresses.begin(), rank.addresses.end(), address) != rank.addresses.end();
}

const JobRank* FindRank(const Job& job, int rank) {
  const auto at = std::find_if(job.ranks.begin(), job.ranks.end(),
                               [rank](const JobRank& r) { return r.rank == rank; });
  return at == job.ranks.end() ? nullptr : &*at;
}

class Attributor {
 public:
  Attributor(const HostFacts& facts, const std::vector<Connection>& connections,
             const std::vector<FlowSummary>& flows)
      : facts_(facts), connections_(connections), flows_(flows) {
    for (const Job& job : facts.jobs) result_.jobs.push_back({.job = job, .edges = {}});
    result_.endpoints.resize(connections.size());
  }

  Attribution Run() {
    ClaimFromLogs();
    ClaimFromRdma();
    for (size_t i = 0; i < connections_.size(); ++i) ClaimOwn(i);
    for (size_t i = 0; i < connections_.size(); ++i) ClaimPeers(i);
    LocatePeers();
    for (size_t i = 0; i < connections_.size(); ++i) ClaimReceived(i);
    for (size_t i = 0; i < connections_.size(); ++i) AddEdges(i);
    for (size_t job = 0; job < result_.jobs.size(); ++job) FinishJob(job);
    return std::move(result_);
  }

 private:
  void ClaimFromLogs() {
    for (size_t j = 0; j < facts_.jobs.size(); ++j) {
      for (const JobRank& rank : facts_.jobs[j].ranks) {
        for (const JobQueuePair& qp : rank.queue_pairs) {
          if (qp.role == NcclQueuePairRole::kFlush) continue;
          const std::vector<IpAddress> addresses =
              qp.address ? std::vector<IpAddress>{*qp.address} : AddressesOf(rank);
          for (const IpAddress& address : addresses) {
            claims_[{address, qp.local}].push_back(
                {.rank = {.job = static_cast<uint32_t>(j),
                          .rank = qp.peer.own_rank >= 0 ? qp.peer.own_rank : rank.rank,
                          .source = RankSource::kNcclLog,
                          .confidence = kOwnLog},
                 .owner = &rank,
                 .stated = &qp});
          }
        }
      }
    }
  }

  // A kernel's list names the process, a log the rank of the process.
  void ClaimFromRdma() {
    for (const RdmaDump& dump : facts_.rdma) {
      for (size_t j = 0; j < facts_.jobs.size(); ++j) {
        for (const JobRank& rank : facts_.jobs[j].ranks) {
          if (!SameHost(dump.host, rank.host)) continue;
          for (const RdmaQueuePair& qp : dump.queue_pairs) {
            if (qp.process_id == rank.process_id) ClaimFromRdma(dump, qp, j, rank);
          }
        }
      }
    }
  }

  void ClaimFromRdma(const RdmaDump& dump, const RdmaQueuePair& qp, size_t job,
                     const JobRank& rank) {
    for (const IpAddress& address : AddressesOf(rank)) {
      std::vector<Claim>& claims = claims_[{address, qp.local}];
      // Numbers come back: an older process's log may name the same one.
      std::erase_if(claims, [&](const Claim& claim) {
        return claim.owner->process_id != rank.process_id && SameHost(claim.owner->host, dump.host);
      });
      const bool logged = std::ranges::any_of(
          claims, [](const Claim& claim) { return claim.rank.source == RankSource::kNcclLog; });
      if (logged) continue;  // it says the same and the peer too
      claims.push_back({.rank = {.job = static_cast<uint32_t>(job),
                                 .rank = rank.rank,
                                 .source = RankSource::kRdmaResource,
                                 .confidence = kOwnKernel},
                        .owner = &rank});
    }
  }

  // Queue pair numbers come back: where two processes held the same one, neither is believed.
  const Claim* ClaimAt(const ConnectionEndpoint& endpoint) const {
    if (!endpoint.qpn) return nullptr;
    const auto at = claims_.find({endpoint.address, *endpoint.qpn});
    if (at == claims_.end()) return nullptr;
    const std::vector<Claim>& claims = at->second;
    const bool agree = std::all_of(claims.begin(), claims.end(), [&](const Claim& claim) {
      return claim.rank.job == claims[0].rank.job && claim.rank.rank == claims[0].rank.rank;
    });
    return agree ? &claims[0] : nullptr;
  }

  void ClaimOwn(size_t i) {
    for (size_t end = 0; end < 2; ++end) {
      if (const Claim* claim = ClaimAt(connections_[i].endpoints[end])) {
        result_.endpoints[i][end] = claim->rank;
      }
    }
  }

  // The receiver logs no number: its rank is the one that the sender's log says it sends to,
  // provided that the address is that rank's.
  void ClaimPeers(size_t i) {
    for (size_t end = 0; end < 2; ++end) {
      const ConnectionEndpoint& peer = connections_[i].endpoints[1 - end];
      if (result_.endpoints[i][1 - end]) continue;
      const Claim* claim = ClaimAt(connections_[i].endpoints[end]);
      if (claim == nullptr || claim->stated == nullptr) continue;
      result_.endpoints[i][1 - end] = PeerOf(*claim, peer.address);
    }
  }

  std::optional<RankClaim> PeerOf(const Claim& claim, const IpAddress& address) const {
    const Job& job = facts_.jobs[claim.rank.job];
    const JobQueuePair& stated = *claim.stated;
    RankClaim peer{
        .job = claim.rank.job,
        .rank = stated.peer.peer_rank,
        .source = RankSource::kPeer,
        .confidence = stated.certainty == PeerCertainty::kExact ? kPeerExact : kPeerOrdered};
    std::vector<int> at_address;
    for (const JobRank& rank : job.ranks) {
      if (HasAddress(rank, address)) at_address.push_back(rank.rank);
    }
    if (peer.rank >= 0) {
      const JobRank* rank = FindRank(job, peer.rank);
      if (rank == nullptr || HasAddress(*rank, address)) return peer;
      if (at_address.empty()) {
        peer.confidence = kPeerUnplaced;
        return peer;
      }
    }
    // Ambiguous, or the order misled: the address decides if it leaves one candidate.
    if (stated.candidates != nullptr && !stated.candidates->empty()) {
      std::erase_if(at_address, [&](int rank) {
        return std::none_of(stated.candidates->begin(), stated.candidates->end(),
                            [rank](const JobPeer& c) { return c.peer_rank == rank; });
      });
    }
    if (at_address.size() != 1) return std::nullopt;
    peer.rank = at_address[0];
    peer.confidence = kPeerByAddress;
    return peer;
  }

  // Where the ranks sit whose logs are missing: at the address that a log's owner sends to.
  void LocatePeers() {
    for (size_t i = 0; i < connections_.size(); ++i) {
      for (size_t end = 0; end < 2; ++end) {
        const std::optional<RankClaim>& claim = result_.endpoints[i][end];
        if (!claim || claim->source != RankSource::kPeer) continue;
        if (FindRank(facts_.jobs[claim->job], claim->rank) != nullptr) continue;
        located_[connections_[i].endpoints[end].address].insert({claim->job, claim->rank});
      }
    }
  }

  // Data that arrives from a rank without a log over a queue pair that no log names. The receiver's
  // log says that it comes; it is this connection if the addresses leave one pair of ranks.
  void ClaimReceived(size_t i) {
    const Connection& connection = connections_[i];
    if (connection.state != ConnectionState::kPaired) return;
    for (size_t to = 0; to < 2; ++to) {
      const ConnectionEndpoint& receiver = connection.endpoints[to];
      const ConnectionEndpoint& sender = connection.endpoints[1 - to];
      const auto senders = located_.find(sender.address);
      if (senders == located_.end() || IsClaimed(i) || !IsOneWay(connection, sender, receiver))
        continue;
      std::vector<std::array<RankClaim, 2>> fits;
      for (const auto& [job, source] : senders->second) {
        for (const JobRank& rank : facts_.jobs[job].ranks) {
          if (rank.rank < 0 || !HasAddress(rank, receiver.address)) continue;
          if (!std::ranges::binary_search(rank.receives_from, source)) continue;
          RankClaim claim{.job = job,
                          .rank = rank.rank,
                          .source = RankSource::kReceiver,
                          .confidence = kReceived};
          fits.push_back({claim, claim});
          fits.back()[1].rank = source;
        }
      }
      if (fits.size() != 1) continue;
      result_.endpoints[i][to] = fits[0][0];
      result_.endpoints[i][1 - to] = fits[0][1];
    }
  }

  // By this attribution or, in doubt between several, by some log.
  bool IsClaimed(size_t i) const {
    for (size_t end = 0; end < 2; ++end) {
      const ConnectionEndpoint& endpoint = connections_[i].endpoints[end];
      if (result_.endpoints[i][end]) return true;
      if (endpoint.qpn && claims_.contains({endpoint.address, *endpoint.qpn})) return true;
    }
    return false;
  }

  bool IsOneWay(const Connection& connection, const ConnectionEndpoint& from,
                const ConnectionEndpoint& to) const {
    const FlowCounts* forward = CarriedBy(connection, from, to);
    const FlowCounts* backward = CarriedBy(connection, to, from);
    return forward != nullptr && forward->DataBytes() > 0 &&
           (backward == nullptr || backward->DataBytes() == 0);
  }

  const FlowSummary* FindFlow(const ConnectionEndpoint& from, const ConnectionEndpoint& to) const {
    if (!to.qpn) return nullptr;
    const FlowKey key{.source = from.address,
                      .destination = to.address,
                      .destination_qpn = *to.qpn,
                      .segment = to.segment};
    const auto at = std::lower_bound(
        flows_.begin(), flows_.end(), key,
        [](const FlowSummary& flow, const FlowKey& wanted) { return flow.flow < wanted; });
    return at != flows_.end() && at->flow == key ? &*at : nullptr;
  }

  // What went one way while the connection held its queue pair numbers.
  const FlowCounts* CarriedBy(const Connection& connection, const ConnectionEndpoint& from,
                              const ConnectionEndpoint& to) const {
    const FlowSummary* flow = FindFlow(from, to);
    return flow == nullptr ? nullptr : flow->Of(connection.valid_until);
  }

  // An edge names queue pairs at both ends; without a partner there is none to name.
  void AddEdges(size_t i) {
    if (connections_[i].state != ConnectionState::kPaired) return;
    const auto& [a, b] = result_.endpoints[i];
    if (!a || !b || a->job != b->job) return;
    for (size_t from = 0; from < 2; ++from) AddEdge(i, from);
  }

  void AddEdge(size_t i, size_t from) {
    const Connection& connection = connections_[i];
    const ConnectionEndpoint& source = connection.endpoints[from];
    const ConnectionEndpoint& destination = connection.endpoints[1 - from];
    const FlowCounts* forward = CarriedBy(connection, source, destination);
    const FlowCounts* backward = CarriedBy(connection, destination, source);
    if (forward == nullptr) return;
    const RankClaim& source_claim = *result_.endpoints[i][from];
    const RankClaim& destination_claim = *result_.endpoints[i][1 - from];
    RankEdge& edge = edges_[{source_claim.job, source_claim.rank, destination_claim.rank}];
    const FlowCounts& sent = *forward;
    const double confidence =
        std::min({connection.confidence, source_claim.confidence, destination_claim.confidence});
    // What a READ fetches travels from the one who is asked.
    const uint64_t asked = forward->ClassPackets(OperationClass::kReadRequest);
    const uint64_t served =
        backward == nullptr ? 0 : backward->ClassPackets(OperationClass::kReadRequest);
    const uint64_t own_messages = sent.messages - sent.control_messages;
    const bool first = edge.source_rank < 0;
    edge.source_rank = source_claim.rank;
    edge.destination_rank = destination_claim.rank;
    edge.bytes += forward->DataBytes();
    edge.messages += own_messages - std::min(own_messages, asked) + served;
    edge.control_bytes += sent.control_bytes;
    edge.control_messages += sent.control_messages;
    edge.unseen += sent.unseen;
    edge.resent += sent.resent;
    edge.ce_marked += sent.ce_marked;
    if (backward != nullptr) edge.cnps += backward->ClassPackets(OperationClass::kCnp);
    edge.first_seen = first ? sent.first_seen : std::min(edge.first_seen, sent.first_seen);
    edge.last_seen = first ? sent.last_seen : std::max(edge.last_seen, sent.last_seen);
    // What clear-to-sends alone went over says nothing of this edge's data.
    if (forward->DataBytes() == 0 && own_messages <= asked && served == 0) return;
    std::vector<std::pair<Qpn, Qpn>>& pairs = pairs_[&edge];
    edge.confidence = pairs.empty() ? confidence : std::min(edge.confidence, confidence);
    if (source.qpn && destination.qpn) pairs.push_back({*source.qpn, *destination.qpn});
  }

  void FinishJob(size_t j) {
    AttributedJob& attributed = result_.jobs[j];
    for (auto& [key, edge] : edges_) {
      if (std::get<0>(key) != j) continue;
      if (edge.messages == 0 && edge.bytes == 0) continue;  // control alone
      std::vector<std::pair<Qpn, Qpn>>& pairs = pairs_[&edge];
      std::sort(pairs.begin(), pairs.end());
      for (const auto& [source, destination] : pairs) {
        edge.source_qpns.push_back(source);
        edge.destination_qpns.push_back(destination);
      }
      attributed.edges.push_back(edge);
    }
  }

  const HostFacts& facts_;
  const std::vector<Connection>& connections_;
  const std::vector<FlowSummary>& flows_;
  std::map<EndpointKey, std::vector<Claim>> claims_;
  std::map<IpAddress, std::set<std::pair<uint32_t, int>>> located_;  // job and rank, by address
  std::map<std::tuple<uint32_t, int, int>, RankEdge> edges_;         // job, source, destination
  std::map<const RankEdge*, std::vector<std::pair<Qpn, Qpn>>> pairs_;
  Attribution result_;
};

// The addresses of a host that a dump is named after: from the jobs' logs, or the name itself.
std::vector<IpAddress> AddressesOf(const RdmaDump& dump, const std::vector<Job>& jobs) {
  std::vector<IpAddress> addresses;
  if (const Result<IpAddress> literal = ParseIpAddress(dump.host)) addresses.push_back(*literal);
  for (const Job& job : jobs) {
    for (const JobRank& rank : job.ranks) {
      if (!SameHost(rank.host, dump.host)) continue;
      const std::vector<IpAddress> more = AddressesOf(rank);
      addresses.insert(addresses.end(), more.begin(), more.end());
    }
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

// Which of a host's addresses a queue pair uses the list does not say, and the same numbers occur
// on many hosts: every combination is offered, and the tracker takes the one that has traffic.
void AddPairs(const RdmaDump& a, Qpn at_a, const RdmaDump& b, Qpn at_b,
              const std::vector<Job>& jobs, std::vector<KnownPair>& pairs) {
  for (const IpAddress& address_a : AddressesOf(a, jobs)) {
    for (const IpAddress& address_b : AddressesOf(b, jobs)) {
      pairs.push_back({.a = {.address = address_a, .qpn = at_a},
                       .b = {.address = address_b, .qpn = at_b},
                       .source = KnownPairSource::kRdmaResource,
                       .valid_from = std::nullopt});
    }
  }
}

void AddMutualPairs(const HostFacts& facts, std::vector<KnownPair>& pairs) {
  std::multimap<std::pair<Qpn, Qpn>, size_t> by_numbers;  // local and remote; index of the dump
  for (size_t i = 0; i < facts.rdma.size(); ++i) {
    for (const RdmaQueuePair& qp : facts.rdma[i].queue_pairs) {
      if (qp.type == "RC" && qp.remote) by_numbers.emplace(std::pair(qp.local, *qp.remote), i);
    }
  }
  for (const auto& [numbers, i] : by_numbers) {
    const auto [first, last] = by_numbers.equal_range({numbers.second, numbers.first});
    for (auto other = first; other != last; ++other) {
      if (other->second <= i) continue;  // each pair once
      AddPairs(facts.rdma[i], numbers.first, facts.rdma[other->second], numbers.second, facts.jobs,
               pairs);
    }
  }
}

}  // namespace

std::vector<KnownPair> KnownPairsOf(const HostFacts& facts) {
  std::vector<KnownPair> pairs;
  AddMutualPairs(facts, pairs);
  for (const Job& job : facts.jobs) {
    for (const JobRank& rank : job.ranks) {
      for (const JobQueuePair& qp : rank.queue_pairs) {
        if (!qp.address || !qp.remote || qp.peer.peer_rank < 0) continue;
        const JobRank* peer = FindRank(job, qp.peer.peer_rank);
        if (peer == nullptr) continue;
        for (const IpAddress& address : AddressesOf(*peer)) {
          pairs.push_back({.a = {.address = *qp.address, .qpn = qp.local},
                           .b = {.address = address, .qpn = *qp.remote},
                           .source = KnownPairSource::kNcclLog,
                           .valid_from = std::nullopt});
        }
      }
    }
  }
  return pairs;
}

Attribution AttributeJobs(const HostFacts& facts, const std::vector<Connection>& connections,
                          const std::vector<FlowSummary>& flows) {
  return Attributor(facts, connections, flows).Run();
}

}  // namespace rocescope
