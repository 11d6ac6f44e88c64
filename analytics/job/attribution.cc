// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "analytics/job/allocation_index.h"
#include "analytics/job/allocation_jobs.h"
#include "analytics/job/allocation_match.h"
#include "analytics/job/channel_claims.h"
#include "analytics/job/claims.h"
#include "analytics/job/flow_of.h"
#include "analytics/job/job_index.h"
#include "analytics/job/process_jobs.h"

namespace rocescope {
namespace {

class Attributor {
 public:
  Attributor(const HostFacts& facts, const ConnectionList& connections, const FlowSummaries& flows)
      : facts_(facts),
        connections_(connections),
        flows_(flows),
        hosts_(facts.jobs, facts.nics),
        index_(facts.jobs, hosts_),
        claims_(facts, hosts_, index_, connections, flows),
        allocations_(facts, hosts_),
        endpoints_(connections.size()) {}

  Attribution Run() {
    for (size_t i = 0; i < connections_.size(); ++i) ClaimOwn(i);
    for (size_t i = 0; i < connections_.size(); ++i) ClaimPeers(i);
    LocatePeers();
    for (size_t i = 0; i < connections_.size(); ++i) ClaimReceived(i);
    for (size_t i = 0; i < connections_.size(); ++i) ClaimByAddress(i);
    ClaimByChannels();

    const std::vector<AllocationAnswer> answers = AllocationsOf(connections_, allocations_);
    Attribution result;
    std::vector<Job> jobs = JobsWithNotes();
    AddNotesOnChannels(jobs);
    const std::vector<Job> unlogged =
        JobsOfProcesses(connections_, flows_, claims_, answers, facts_.processes,
                        static_cast<uint32_t>(jobs.size()), endpoints_);
    jobs.insert(jobs.end(), unlogged.begin(), unlogged.end());
    const std::vector<std::optional<SeenTime>> seen = SeenTimes(jobs.size());
    MatchAllocations(facts_, allocations_, seen, jobs);
    result.notes = NotesOnDumps(facts_);
    for (std::string& note : allocations_.Notes()) result.notes.push_back(std::move(note));
    ClaimByAllocation(facts_, allocations_, connections_, answers, seen, jobs, endpoints_,
                      result.notes);
    auto edges = EdgesOf(jobs.size(), connections_, endpoints_, flows_);
    for (size_t j = 0; j < jobs.size(); ++j) {
      result.jobs.push_back({.job = std::move(jobs[j]), .edges = std::move(edges[j])});
    }
    result.endpoints = std::move(endpoints_);
    return result;
  }

 private:
  // Keyed by job.
  std::vector<std::optional<SeenTime>> SeenTimes(size_t jobs) const {
    std::vector<std::optional<SeenTime>> seen(jobs);
    for (size_t i = 0; i < connections_.size(); ++i) {
      const Connection& connection = connections_[i];
      for (const std::optional<RankClaim>& claim : endpoints_[i]) {
        if (!claim) continue;
        std::optional<SeenTime>& of_job = seen[claim->job];
        if (!of_job) of_job = {.from = connection.valid_from, .until = connection.last_seen};
        of_job->from = std::min(of_job->from, connection.valid_from);
        of_job->until = std::max(of_job->until, connection.last_seen);
      }
    }
    return seen;
  }

  std::vector<Job> JobsWithNotes() const {
    std::vector<Job> jobs = facts_.jobs;
    const std::vector<std::vector<std::string>> notes = claims_.Notes();
    for (size_t j = 0; j < jobs.size(); ++j) {
      jobs[j].notes.insert(jobs[j].notes.end(), notes[j].begin(), notes[j].end());
    }
    return jobs;
  }

  void AddNotesOnChannels(std::vector<Job>& jobs) const {
    struct Counts {
      size_t attributed = 0;
      size_t open = 0;
    };
    for (const auto& [job, note] : undecided_) jobs[job].notes.push_back(note);
    std::map<uint32_t, Counts> by_job;
    for (const EndClaims& ends : endpoints_) {
      if (!ends[0] || !ends[1] || ends[0]->source != RankSource::kChannel) continue;
      const bool is_known = ends[0]->IsRankKnown() && ends[1]->IsRankKnown();
      ++(is_known ? by_job[ends[0]->job].attributed : by_job[ends[0]->job].open);
    }
    for (const auto& [job, counts] : by_job) {
      std::string note = fmt::format(
          "the NCCL logs contain no queue pair numbers (NCCL_DEBUG_SUBSYS=INIT,NET adds them); the "
          "ranks of {} connection{} are derived from the NICs of the channels",
          counts.attributed, counts.attributed == 1 ? "" : "s");
      if (counts.open > 0) {
        note +=
            fmt::format("; {} more {} no known pair of ranks, because several ranks use the NIC",
                        counts.open, counts.open == 1 ? "has" : "have");
      }
      jobs[job].notes.push_back(std::move(note));
    }
  }

  void ClaimOwn(size_t i) {
    for (size_t end = 0; end < 2; ++end) {
      if (const Claim* claim = claims_.At(i, end)) endpoints_[i][end] = claim->rank;
    }
  }

  // The receiver may log no number: its rank is the one to which the sender's log says it sends.
  void ClaimPeers(size_t i) {
    for (size_t end = 0; end < 2; ++end) {
      if (endpoints_[i][1 - end]) continue;
      const Claim* claim = claims_.At(i, end);
      if (claim == nullptr || claim->stated == nullptr) continue;
      endpoints_[i][1 - end] = PeerOf(*claim, connections_[i].endpoints[1 - end].address);
    }
  }

  // An exact statement of the log is final. A peer derived from order, or an ambiguous one, must
  // agree with the address.
  std::optional<RankClaim> PeerOf(const Claim& claim, const IpAddress& address) const {
    const uint32_t job = claim.rank.job;
    const JobQueuePair& stated = *claim.stated;
    const RankName name =
        index_.Complete(job, {.rank = stated.peer.peer_rank, .member = stated.peer.peer_member});
    if (name.IsKnown()) {
      const JobIndex::Fit fit = index_.FitOf(job, name, address);
      if (stated.certainty == PeerCertainty::kExact) {
        // Without a log of the peer, no address can contradict.
        const bool agrees = name.member < 0 || fit == JobIndex::Fit::kYes;
        return ClaimFor(job, name, agrees ? kPeerExact : kPeerUnplaced);
      }
      if (fit == JobIndex::Fit::kYes) return ClaimFor(job, name, kPeerOrdered);
      if (fit == JobIndex::Fit::kMaybe) return ClaimFor(job, name, kPeerUnplaced);
    }
    return OneAt(job, stated, address);
  }

  // Returns the only candidate that can have the address.
  std::optional<RankClaim> OneAt(uint32_t job, const JobQueuePair& stated,
                                 const IpAddress& address) const {
    const bool is_open = stated.candidates == nullptr || stated.candidates->empty();
    if (is_open && stated.certainty != PeerCertainty::kAmbiguous) return std::nullopt;
    if (is_open) {
      const auto at = index_.At(job, address);
      if (at.size() != 1 || !index_.ShowsAllAt(job, address)) return std::nullopt;
      return ClaimFor(job, JobIndex::NameOf(facts_.jobs[job], at[0]), kPeerByAddress);
    }
    std::optional<RankName> found;
    for (const JobPeer& candidate : *stated.candidates) {
      const RankName name =
          index_.Complete(job, {.rank = candidate.peer_rank, .member = candidate.peer_member});
      const JobIndex::Fit fit =
          name.IsKnown() ? index_.FitOf(job, name, address) : JobIndex::Fit::kMaybe;
      if (fit == JobIndex::Fit::kNo) continue;
      if (fit == JobIndex::Fit::kMaybe) return std::nullopt;
      const bool is_same = found && found->rank == name.rank && found->member == name.member;
      if (found && !is_same) return std::nullopt;
      found = name;
    }
    if (!found) return std::nullopt;
    return ClaimFor(job, *found, kPeerByAddress);
  }

  static RankClaim ClaimFor(uint32_t job, const RankName& name, double confidence) {
    return {.job = job,
            .rank = name.rank,
            .member = name.member,
            .source = RankSource::kPeer,
            .confidence = confidence};
  }

  // Locates ranks without logs: they are at the address to which a rank with a log sends.
  void LocatePeers() {
    for (size_t i = 0; i < connections_.size(); ++i) {
      for (size_t end = 0; end < 2; ++end) {
        const std::optional<RankClaim>& claim = endpoints_[i][end];
        if (!claim || claim->source != RankSource::kPeer || claim->member >= 0) continue;
        located_[connections_[i].endpoints[end].address].insert({claim->job, claim->rank});
      }
    }
  }

  // Handles data from a rank without a log on a queue pair that no log contains. The receiver's log
  // says that it receives from this rank; this is the connection if the addresses leave only one
  // pair of ranks.
  void ClaimReceived(size_t i) {
    const Connection& connection = connections_[i];
    if (connection.state != ConnectionState::kPaired || IsClaimed(i)) return;
    for (size_t to = 0; to < 2 && !IsClaimed(i); ++to) {
      const auto senders = located_.find(connection.endpoints[1 - to].address);
      if (senders == located_.end() || !IsOneWay(connection, 1 - to)) continue;
      std::optional<EndClaims> found;
      bool is_only = true;
      for (const auto& [job, source] : senders->second) {
        for (const uint32_t member : index_.At(job, connection.endpoints[to].address)) {
          const JobRank& rank = facts_.jobs[job].ranks[member];
          if (rank.rank < 0 || !std::ranges::binary_search(rank.receives_from, source)) continue;
          is_only = !found;
          RankClaim claim{.job = job,
                          .rank = rank.rank,
                          .member = static_cast<int>(member),
                          .source = RankSource::kReceiver,
                          .confidence = kReceived};
          found.emplace();
          (*found)[to] = claim;
          claim.rank = source;
          claim.member = -1;
          (*found)[1 - to] = claim;
          if (!is_only) break;
        }
        if (!is_only) break;
      }
      if (found && is_only) endpoints_[i] = *found;
    }
  }

  // The log may not identify the peer, for example in NCCL releases without communicator
  // identifiers. The peer still belongs to the same job, and often only one rank has the address.
  void ClaimByAddress(size_t i) {
    for (size_t end = 0; end < 2; ++end) {
      const std::optional<RankClaim>& own = endpoints_[i][1 - end];
      if (endpoints_[i][end] || !own || claims_.IsNamed(i, end)) continue;
      const IpAddress& address = connections_[i].endpoints[end].address;
      const std::span<const uint32_t> members = index_.At(own->job, address);
      if (members.size() != 1 || !index_.ShowsAllAt(own->job, address)) continue;
      endpoints_[i][end] =
          ClaimFor(own->job, JobIndex::NameOf(facts_.jobs[own->job], members[0]), kPeerByAddress);
      return;
    }
  }

  void ClaimByChannels() {
    std::shared_ptr<const ChannelCandidates> candidates = facts_.channels;
    if (candidates == nullptr) {
      candidates = std::make_shared<const ChannelCandidates>(facts_.jobs, facts_.nics);
    }
    if (candidates->empty()) return;
    std::vector<bool> is_open(connections_.size());
    for (size_t i = 0; i < connections_.size(); ++i) is_open[i] = !IsClaimed(i);
    ChannelClaims claims(facts_.jobs, *candidates, hosts_);
    claims.Claim(connections_, flows_, is_open, endpoints_);
    undecided_ = claims.Notes();
  }

  // Whether an end is claimed by this attribution or, ambiguously, by some log.
  bool IsClaimed(size_t i) const {
    for (size_t end = 0; end < 2; ++end) {
      if (endpoints_[i][end] || claims_.IsNamed(i, end)) return true;
    }
    return false;
  }

  bool IsOneWay(const Connection& connection, size_t from) const {
    const FlowCounts* forward = CarriedFrom(from, connection, flows_);
    const FlowCounts* backward = CarriedFrom(1 - from, connection, flows_);
    return forward != nullptr && forward->DataBytes() > 0 &&
           (backward == nullptr || backward->DataBytes() == 0);
  }

  const HostFacts& facts_;
  const ConnectionList& connections_;
  const FlowSummaries& flows_;
  HostIndex hosts_;
  JobIndex index_;
  Claims claims_;
  AllocationIndex allocations_;
  std::vector<EndClaims> endpoints_;
  std::map<uint32_t, std::string> undecided_;                        // notes by job
  std::map<IpAddress, std::set<std::pair<uint32_t, int>>> located_;  // job and rank by address
};

// Separates jobs of NCCL releases without communicator identifiers with the help of observed
// traffic.
HostFacts Parted(const HostFacts& facts, const ConnectionList& connections,
                 const FlowSummaries& flows) {
  JobEvidence evidence;
  evidence.nics = facts.nics;
  for (const Connection& connection : connections) {
    for (size_t end = 0; end < 2; ++end) {
      const ConnectionEndpoint& own = connection.endpoints[end];
      if (!own.qpn) continue;
      evidence.meetings.push_back(
          {.address = own.address, .qpn = *own.qpn, .peer = connection.endpoints[1 - end].address});
    }
  }
  std::ranges::sort(evidence.meetings);
  for (const Connection& connection : connections) {
    const std::optional<size_t> sender = DataSenderOf(connection, flows);
    if (!sender) continue;
    evidence.ways.emplace_back(connection.endpoints[*sender].address,
                               connection.endpoints[1 - *sender].address);
  }
  std::ranges::sort(evidence.ways);
  evidence.ways.erase(std::ranges::unique(evidence.ways).begin(), evidence.ways.end());
  const HostIndex hosts(facts.jobs, facts.nics);
  const AllocationIndex allocations(facts, hosts);
  evidence.allocation_of = [&](const NcclProcess& process) -> std::optional<uint32_t> {
    if (allocations.empty() || process.communicators.empty()) return std::nullopt;
    Job job;
    job.ranks.push_back(
        {.host = process.host, .gpu_bus_id = FormatPciAddress(process.communicators[0].bus_id)});
    return allocations.Of(job, std::nullopt).Preferred();
  };
  HostFacts parted = facts;
  parted.jobs = GroupJobs(facts.logs, evidence);
  parted.channels = nullptr;
  return parted;
}

}  // namespace

Attribution AttributeJobs(const HostFacts& facts, const ConnectionList& connections,
                          const FlowSummaries& flows) {
  if (facts.jobs.empty() && facts.rdma.empty() && facts.allocations.empty() && facts.logs.empty()) {
    // There are no host facts about queue pairs.
    return {.jobs = {}, .endpoints = std::vector<EndClaims>(connections.size()), .notes = {}};
  }
  if (facts.logs.empty()) return Attributor(facts, connections, flows).Run();
  return Attributor(Parted(facts, connections, flows), connections, flows).Run();
}

}  // namespace rocescope
