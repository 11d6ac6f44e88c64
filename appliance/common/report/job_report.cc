// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/job_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/common/report/collective_report.h"
#include "rocescope/v1/report.pb.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

using SeenQps = std::set<std::pair<IpAddress, Qpn>>;

SeenQps SeenIn(const Snapshot& snapshot) {
  SeenQps seen;
  for (const FlowSummary& flow : *snapshot.flows) {
    seen.emplace(flow.flow.destination, flow.flow.destination_qpn);
  }
  for (const Connection& connection : *snapshot.connections) {
    for (const ConnectionEndpoint& end : connection.endpoints) {
      if (end.qpn) seen.emplace(end.address, *end.qpn);
    }
  }
  return seen;
}

bool IsSeen(const SeenQps& seen, const JobRank& rank, const JobQueuePair& qp) {
  if (qp.address) return seen.contains({*qp.address, qp.local});
  for (const IpAddress& address : rank.addresses) {
    if (seen.contains({address, qp.local})) return true;
  }
  return rank.oob_address && seen.contains({*rank.oob_address, qp.local});
}

// An end of a connection that is attributed to a rank.
struct FoundQp {
  Qpn qpn;
  uint32_t connection = 0;
  uint8_t end = 0;

  friend auto operator<=>(const FoundQp&, const FoundQp&) = default;
};
using FoundQps = std::vector<std::vector<FoundQp>>;  // indexed like Job::ranks

std::vector<FoundQps> FoundIn(const Snapshot& snapshot) {
  const Attribution& attribution = *snapshot.attribution;
  std::vector<FoundQps> found;
  for (const AttributedJob& job : attribution.jobs) found.emplace_back(job.job.ranks.size());
  for (uint32_t i = 0; i < attribution.endpoints.size(); ++i) {
    for (uint8_t end = 0; end < 2; ++end) {
      const std::optional<RankClaim>& claim = attribution.endpoints[i][end];
      const ConnectionEndpoint& endpoint = (*snapshot.connections)[i].endpoints[end];
      if (!claim || claim->member < 0 || !endpoint.qpn) continue;
      found[claim->job][static_cast<size_t>(claim->member)].push_back(
          {.qpn = *endpoint.qpn, .connection = i, .end = end});
    }
  }
  for (FoundQps& job : found) {
    for (std::vector<FoundQp>& rank : job) std::ranges::sort(rank);
  }
  return found;
}

std::string ProcessText(const Job& job, int member) {
  if (member < 0) return "";
  const JobRank& rank = job.ranks[static_cast<size_t>(member)];
  if (rank.process_id == 0) {  // without a known rank: only the NIC is known
    return fmt::format("{}/{}", rank.host,
                       rank.devices.empty() ? ToString(rank.addresses[0]) : rank.devices[0].name);
  }
  return fmt::format("{}:{}", rank.host, rank.process_id);
}

void SetPeer(const Job& job, int rank, int member, v1::RankSource source, double confidence,
             v1::RankQp& out) {
  if (rank < 0 && member < 0) return;
  if (rank >= 0) {
    out.set_peer_rank(rank);
  } else {
    out.set_peer_process(ProcessText(job, member));
  }
  out.set_peer_source(source);
  out.set_peer_confidence(confidence);
}

// Fills in what the log alone contains, for a queue pair without observed traffic.
void SetStatedPeer(const Job& job, const JobQueuePair& qp, v1::RankQp& out) {
  const bool is_exact = qp.certainty == PeerCertainty::kExact;
  SetPeer(job, qp.peer.peer_rank, qp.peer.peer_member, v1::RANK_SOURCE_NCCL_LOG,
          is_exact ? kPeerExact : kPeerOrdered, out);
}

void SetCandidates(const JobQueuePair& qp, v1::RankQp& out) {
  if (qp.candidates == nullptr) return;
  for (const JobPeer& candidate : *qp.candidates) {
    out.add_candidate_peer_ranks(candidate.peer_rank);
  }
}

// Fills in the queue pairs of one rank.
class RankQps {
 public:
  RankQps(const Snapshot& snapshot, const SeenQps& seen, const Job& job,
          const std::vector<FoundQp>& found, v1::Rank& out)
      : snapshot_(snapshot), seen_(seen), job_(job), found_(found), out_(out) {}

  void Fill(const JobRank& rank) {
    std::set<Qpn> listed;
    for (const JobQueuePair& qp : rank.queue_pairs) {
      if (qp.role == NcclQueuePairRole::kFlush) continue;  // loopback: never on the wire
      listed.insert(qp.local);
      const FoundQp* found = Find(qp);
      v1::RankQp& row = Add(qp.local, v1::RANK_SOURCE_NCCL_LOG, found || IsSeen(seen_, rank, qp));
      if (found != nullptr && SetFoundPeer(*found, row)) continue;
      // Observed but without a peer: its address contradicts the log.
      if (found != nullptr || qp.certainty == PeerCertainty::kAmbiguous) {
        SetCandidates(qp, row);
      } else {
        SetStatedPeer(job_, qp, row);
      }
    }
    // Queue pairs that no log of the rank contains, found through the peer or the kernel's list.
    for (const FoundQp& found : found_) {
      if (!listed.insert(found.qpn).second) continue;
      const RankSource source =
          snapshot_.attribution->endpoints[found.connection][found.end]->source;
      const bool is_own = source == RankSource::kRdmaResource || source == RankSource::kNcclLog ||
                          source == RankSource::kChannel;
      v1::RankQp& row =
          Add(found.qpn, is_own ? MessageOf(source) : v1::RANK_SOURCE_CONNECTION, true);
      SetFoundPeer(found, row);
    }
  }

 private:
  v1::RankQp& Add(Qpn qpn, v1::RankSource source, bool is_seen) {
    v1::RankQp& row = *out_.add_queue_pairs();
    row.set_qpn(qpn.value);
    row.set_source(source);
    row.set_seen(is_seen);
    return row;
  }

  const FoundQp* Find(const JobQueuePair& qp) const {
    for (const FoundQp& found : std::ranges::equal_range(found_, qp.local, {}, &FoundQp::qpn)) {
      const ConnectionEndpoint& end =
          (*snapshot_.connections)[found.connection].endpoints[found.end];
      if (!qp.address || *qp.address == end.address) return &found;
    }
    return nullptr;
  }

  bool SetFoundPeer(const FoundQp& found, v1::RankQp& row) const {
    const auto& peer = snapshot_.attribution->endpoints[found.connection][1 - found.end];
    if (!peer || !peer->IsRankKnown()) return false;
    SetPeer(job_, peer->rank, peer->member, MessageOf(peer->source), peer->confidence, row);
    return true;
  }

  const Snapshot& snapshot_;
  const SeenQps& seen_;
  const Job& job_;
  const std::vector<FoundQp>& found_;  // ordered by number
  v1::Rank& out_;
};

// The log of a rank that only receives contains no address; use the address of its queue pairs.
std::vector<IpAddress> AddressesOf(const Snapshot& snapshot, const JobRank& rank,
                                   const std::vector<FoundQp>& found) {
  if (!rank.addresses.empty()) return rank.addresses;
  std::set<IpAddress> seen;
  for (const FoundQp& one : found) {
    seen.insert((*snapshot.connections)[one.connection].endpoints[one.end].address);
  }
  return {seen.begin(), seen.end()};
}

// NCCL's log lists all devices that it may use; the rank's own devices, from the fabric, come
// first.
void FillNics(const JobRank& rank, const std::vector<IpAddress>& addresses,
              const topology::Fabric* fabric, v1::Rank& out) {
  std::set<std::string_view> own;
  for (const IpAddress& address : addresses) {
    const topology::NicIndex nic =
        fabric == nullptr ? topology::kNone : fabric->FindNic({.segment = 0, .address = address});
    if (nic != topology::kNone) own.insert(fabric->nic(nic).device);
  }
  for (const bool is_own : {true, false}) {
    for (const NcclDevice& device : rank.devices) {
      if (own.contains(device.name) == is_own) out.add_nics(device.name);
    }
  }
}

void FillRank(const Snapshot& snapshot, const JobRank& rank, const std::vector<FoundQp>& found,
              v1::Rank& out) {
  if (rank.rank >= 0) out.set_rank(rank.rank);
  out.set_host(rank.host);
  out.set_process_id(rank.process_id);
  if (rank.cuda_device >= 0) out.set_cuda_device(rank.cuda_device);
  out.set_gpu_pci_address(rank.gpu_bus_id);
  const std::vector<IpAddress> addresses = AddressesOf(snapshot, rank, found);
  FillNics(rank, addresses, snapshot.fabric.get(), out);
  for (const IpAddress& address : addresses) out.add_addresses(ToString(address));
  if (addresses.empty() && rank.oob_address) out.add_addresses(ToString(*rank.oob_address));
}

v1::Job::Identity MessageOf(JobIdentity identity) {
  switch (identity) {
    case JobIdentity::kNcclLog:
      return v1::Job::IDENTITY_NCCL_LOG;
    case JobIdentity::kKernel:
      return v1::Job::IDENTITY_RDMA_RESOURCE;
    case JobIdentity::kWire:
      return v1::Job::IDENTITY_WIRE;
    case JobIdentity::kScheduler:
      return v1::Job::IDENTITY_SCHEDULER;
  }
  return v1::Job::IDENTITY_UNSPECIFIED;
}

void FillEdge(const Job& job, const RankEdge& edge, v1::Edge& out) {
  if (edge.source_rank >= 0) out.set_source_rank(edge.source_rank);
  if (edge.destination_rank >= 0) out.set_destination_rank(edge.destination_rank);
  out.set_bytes(edge.bytes);
  out.set_messages(edge.messages);
  out.set_control_bytes(edge.control_bytes);
  out.set_control_messages(edge.control_messages);
  for (const Qpn qpn : edge.source_qpns) out.add_source_qpns(qpn.value);
  for (const Qpn qpn : edge.destination_qpns) out.add_destination_qpns(qpn.value);
  out.set_confidence(edge.confidence);
  out.set_missing_packets(edge.missing);
  out.set_retransmitted_packets(edge.retransmitted);
  out.set_ce_marked_packets(edge.ce_marked);
  out.set_cnp_packets(edge.cnps);
  *out.mutable_first_seen_time() = TimestampMessage(edge.first_seen);
  *out.mutable_last_seen_time() = TimestampMessage(edge.last_seen);
  out.set_source_process(ProcessText(job, edge.source_member));
  out.set_destination_process(ProcessText(job, edge.destination_member));
}

}  // namespace

v1::RankSource MessageOf(RankSource source) {
  switch (source) {
    case RankSource::kNcclLog:
      return v1::RANK_SOURCE_NCCL_LOG;
    case RankSource::kRdmaResource:
      return v1::RANK_SOURCE_RDMA_RESOURCE;
    case RankSource::kPeer:
      return v1::RANK_SOURCE_PEER;
    case RankSource::kReceiver:
      return v1::RANK_SOURCE_RECEIVER;
    case RankSource::kWire:
      return v1::RANK_SOURCE_WIRE;
    case RankSource::kChannel:
      return v1::RANK_SOURCE_CHANNEL;
    case RankSource::kScheduler:
      return v1::RANK_SOURCE_SCHEDULER;
  }
  return v1::RANK_SOURCE_UNSPECIFIED;
}

void FillAllocation(const JobAllocation& allocation, v1::Allocation& out) {
  out.set_scheduler_job_id(allocation.id);
  out.set_name(allocation.name);
  out.set_user(allocation.user);
}

void FillJobNames(const Snapshot& snapshot, v1::ReplayReport& report) {
  for (const auto& [job, edges] : snapshot.attribution->jobs) {
    v1::Job& out = *report.add_jobs();
    out.set_job_id(job.id);
    if (job.allocation) FillAllocation(*job.allocation, *out.mutable_allocation());
  }
}

void FillJobs(const Snapshot& snapshot, v1::ReplayReport& report) {
  const std::vector<AttributedJob>& jobs = snapshot.attribution->jobs;
  const SeenQps seen = jobs.empty() ? SeenQps() : SeenIn(snapshot);
  const std::vector<FoundQps> found = FoundIn(snapshot);
  for (size_t j = 0; j < jobs.size(); ++j) {
    const Job& job = jobs[j].job;
    v1::Job& out = *report.add_jobs();
    out.set_job_id(job.id);
    out.set_identity(MessageOf(job.identity));
    if (job.allocation) FillAllocation(*job.allocation, *out.mutable_allocation());
    out.set_expected_rank_count(static_cast<uint32_t>(job.rank_count));
    out.set_logged_rank_count(static_cast<uint32_t>(job.ranks_seen));
    for (size_t m = 0; m < job.ranks.size(); ++m) {
      v1::Rank& rank = *out.add_ranks();
      FillRank(snapshot, job.ranks[m], found[j][m], rank);
      RankQps(snapshot, seen, job, found[j][m], rank).Fill(job.ranks[m]);
    }
    for (const RankEdge& edge : jobs[j].edges) FillEdge(job, edge, *out.add_edges());
    for (const std::string& note : job.notes) out.add_notes(note);
  }
  for (const JobIterationPattern& iteration_pattern : *snapshot.iteration_patterns) {
    FillIterationPattern(
        iteration_pattern,
        *report.mutable_jobs(static_cast<int>(iteration_pattern.job))->mutable_iteration_pattern());
  }
  for (const std::string& note : snapshot.attribution->notes) report.add_notes(note);
}

}  // namespace rocescope
