// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analytics/job/dump_host.h"
#include "analytics/job/flow_of.h"

namespace rocescope {
namespace {

bool IsLogged(const Claim& claim) { return claim.stated != nullptr; }

bool Agree(const std::vector<Claim>& claims) {
  return std::ranges::all_of(claims,
                             [&](const Claim& c) { return c.rank.IsSameRank(claims[0].rank); });
}

// Numbers are reused. Among contradicting statements, those of the process in the rdma dump count,
// because it was recorded during the capture. A dump does not distinguish the ranks of one process;
// the log does.
void LeaveTheBestOf(std::vector<Claim>& claims) {
  std::set<std::pair<std::string_view, uint64_t>> holders;
  for (const Claim& c : claims) {
    if (c.rank.source != RankSource::kRdmaResource) continue;
    holders.insert({c.owner->host, c.owner->process_id});
  }
  if (holders.empty()) return;
  std::erase_if(claims, [&](const Claim& c) {
    return !holders.contains({c.owner->host, c.owner->process_id});
  });
  if (std::ranges::none_of(claims, IsLogged)) return;
  std::erase_if(claims, [](const Claim& c) { return !IsLogged(c); });
}

}  // namespace

Claims::Claims(const HostFacts& facts, const HostIndex& hosts, const JobIndex& index,
               const ConnectionList& connections, const FlowSummaries& flows)
    : facts_(facts), hosts_(hosts), index_(index), connections_(connections), flows_(flows) {
  for (uint32_t i = 0; i < connections.size(); ++i) {
    for (uint8_t end = 0; end < 2; ++end) {
      const ConnectionEndpoint& endpoint = connections[i].endpoints[end];
      if (!endpoint.qpn) continue;
      ends_.push_back(
          {.address = endpoint.address, .qpn = *endpoint.qpn, .connection = i, .end = end});
    }
  }
  std::ranges::sort(ends_);
  ClaimFromLogs();
  ClaimFromRdma();
  Settle();
}

const Claim* Claims::At(size_t connection, size_t end) const {
  const auto at = claims_.find({static_cast<uint32_t>(connection), static_cast<uint8_t>(end)});
  return at == claims_.end() || at->second.empty() ? nullptr : &at->second[0];
}

const Claims::Holder* Claims::HolderOf(size_t connection, size_t end) const {
  const auto at = holders_.find({static_cast<uint32_t>(connection), static_cast<uint8_t>(end)});
  return at == holders_.end() || at->second.size() != 1 ? nullptr : &at->second[0];
}

bool Claims::IsNamed(size_t connection, size_t end) const {
  return named_.contains({static_cast<uint32_t>(connection), static_cast<uint8_t>(end)});
}

std::vector<Claims::End> Claims::Find(const std::vector<IpAddress>& addresses, Qpn qpn) const {
  std::vector<End> found;
  for (const IpAddress& address : addresses) {
    auto at = std::ranges::lower_bound(ends_, std::pair(address, qpn), {},
                                       [](const End& e) { return std::pair(e.address, e.qpn); });
    for (; at != ends_.end() && at->address == address && at->qpn == qpn; ++at) {
      found.push_back(*at);
    }
  }
  return found;
}

void Claims::ClaimFromLogs() {
  for (uint32_t j = 0; j < facts_.jobs.size(); ++j) {
    const Job& job = facts_.jobs[j];
    for (uint32_t m = 0; m < job.ranks.size(); ++m) {
      const JobRank& rank = job.ranks[m];
      for (const JobQueuePair& qp : rank.queue_pairs) {
        if (qp.role == NcclQueuePairRole::kFlush) continue;
        RankName name{.rank = qp.peer.own_rank, .member = qp.peer.own_member};
        name = name.IsKnown() ? index_.Complete(j, name) : JobIndex::NameOf(job, m);
        const Claim claim{.rank = {.job = j,
                                   .rank = name.rank,
                                   .member = name.member,
                                   .source = RankSource::kNcclLog,
                                   .confidence = kOwnLog},
                          .owner = &rank,
                          .stated = &qp};
        const std::vector<IpAddress> addresses = hosts_.PossibleAddresses(rank, qp);
        Take(Find(addresses, qp.local), addresses.size() > 1, qp.remote, claim);
      }
    }
  }
}

// An rdma dump identifies the process, a log the rank of the process.
void Claims::ClaimFromRdma() {
  for (const RdmaDump& dump : facts_.rdma) {
    const DumpHost host(dump, hosts_);
    for (const RdmaQueuePair& qp : dump.queue_pairs) {
      if (!qp.process_id) continue;
      const std::vector<RankPlace> ranks = host.RanksOf(*qp.process_id);
      const std::vector<IpAddress> addresses = host.AddressesOf(qp);
      const std::vector<End> ends = Find(addresses, qp.local);
      if (ranks.empty()) {
        const Holder holder = {
            .host = dump.host, .process_id = *qp.process_id, .command = qp.command};
        for (const End& end : ends) {
          std::vector<Holder>& holders = holders_[{end.connection, end.end}];
          // A second one shows that the holder is unknown; a dump can contain any number.
          if (holders.size() < 2 && std::ranges::find(holders, holder) == holders.end()) {
            holders.push_back(holder);
          }
        }
        continue;
      }
      for (const RankPlace& place : ranks) {
        const Job& job = facts_.jobs[place.job];
        const JobRank& rank = job.ranks[place.member];
        Take(ends, addresses.size() > 1, qp.remote,
             {.rank = {.job = place.job,
                       .rank = rank.rank,
                       .member = static_cast<int>(place.member),
                       .source = RankSource::kRdmaResource,
                       .confidence = kOwnKernel},
              .owner = &rank});
      }
    }
  }
}

bool Claims::IsAtPeer(const End& end, const Claim& claim) const {
  if (claim.stated == nullptr) return true;
  const RankName peer{.rank = claim.stated->peer.peer_rank,
                      .member = claim.stated->peer.peer_member};
  if (!peer.IsKnown()) return true;
  const IpAddress& address = connections_[end.connection].endpoints[1 - end.end].address;
  return index_.FitOf(claim.rank.job, peer, address) == JobIndex::Fit::kYes;
}

// A sender's log prints the rkey under which the receiver writes its clear-to-sends.
bool Claims::UsesKey(const End& end, const JobQueuePair& stated) const {
  const FlowCounts* requests = CarriedFrom(1 - end.end, connections_[end.connection], flows_);
  return requests != nullptr && requests->last_rkey == stated.fifo_rkey;
}

void Claims::Take(std::vector<End> ends, bool is_guess, std::optional<Qpn> remote,
                  const Claim& claim) {
  const auto has_remote = [&](const End& end) {
    return connections_[end.connection].endpoints[1 - end.end].qpn == remote;
  };
  // NICs of one host use the same queue pair numbers, so the number alone does not identify the
  // NIC.
  if (is_guess && remote) std::erase_if(ends, [&](const End& end) { return !has_remote(end); });
  if (ends.empty()) return;
  for (const End& end : ends) named_.insert({end.connection, end.end});
  // Criteria that distinguish connections apply only if there are several.
  const auto keep = [&ends](auto fits) {
    if (ends.size() < 2 || std::ranges::none_of(ends, fits)) return;
    std::erase_if(ends, [&](const End& end) { return !fits(end); });
  };
  if (remote) keep(has_remote);
  keep([&](const End& end) { return IsAtPeer(end, claim); });
  if (claim.stated != nullptr && claim.stated->fifo_rkey != 0) {
    keep([&](const End& end) { return UsesKey(end, *claim.stated); });
  }
  if (ends.size() == 1) {
    claims_[{ends[0].connection, ends[0].end}].push_back(claim);
  } else {
    AddDoubt(ends, claim);
  }
}

void Claims::Settle() {
  for (auto& [end, claims] : claims_) {
    if (!Agree(claims)) LeaveTheBestOf(claims);
    if (!Agree(claims)) {
      claims.clear();
      continue;
    }
    // Prefer the claim from the log, because it may also state the peer.
    const auto logged = std::ranges::find_if(claims, IsLogged);
    if (logged == claims.end()) continue;
    const bool peers_differ = std::ranges::any_of(claims, [&](const Claim& c) {
      return IsLogged(c) && c.stated->peer != logged->stated->peer;
    });
    std::swap(claims[0], *logged);
    if (peers_differ) claims[0].stated = nullptr;
  }
}

void Claims::AddDoubt(const std::vector<End>& ends, const Claim& claim) {
  DoubtKind kind = DoubtKind::kIncarnation;
  for (const End& end : ends) {
    const auto segment = [&](const End& e) {
      return connections_[e.connection].endpoints[e.end].segment;
    };
    if (end.address != ends[0].address) kind = DoubtKind::kAddress;
    if (segment(end) != segment(ends[0]) && kind != DoubtKind::kAddress) {
      kind = DoubtKind::kSegment;
    }
  }
  Doubt& doubt = doubts_[{claim.rank.job, kind}];
  ++doubt.count;
  if (doubt.example.empty()) {
    doubt.example =
        fmt::format("queue pair {} of {}:{} at {}", ends[0].qpn.value, claim.owner->host,
                    claim.owner->process_id, ToString(ends[0].address));
  }
}

std::vector<std::vector<std::string>> Claims::Notes() const {
  std::vector<std::vector<std::string>> notes(facts_.jobs.size());
  for (const auto& [key, doubt] : doubts_) {
    std::string_view why = "the number occurs at several addresses of the host";
    if (key.second == DoubtKind::kSegment) {
      why =
          "the number occurs in several segments (tenants, or one mirror in several VXLAN or "
          "Geneve networks)";
    } else if (key.second == DoubtKind::kIncarnation) {
      why = "the number was reused by several connections during the capture";
    }
    notes[key.first].push_back(
        fmt::format("{} queue pair{} from NCCL logs or rdma dumps not attributed, because {}; "
                    "for example {}",
                    doubt.count, doubt.count == 1 ? "" : "s", why, doubt.example));
  }
  return notes;
}

}  // namespace rocescope
