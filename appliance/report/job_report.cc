// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/job_report.h"

#include <set>
#include <utility>

#include "rocescope/v1/report.pb.h"

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

void AddQp(uint32_t qpn, int peer, std::string source, bool seen, v1::Rank& out) {
  v1::RankQp& row = *out.add_queue_pairs();
  row.set_qpn(qpn);
  row.set_peer_rank(peer);
  row.set_source(std::move(source));
  row.set_seen(seen);
}

// Queue pairs that no log of the rank names, found through the peer or the kernel's list.
void AddFoundQps(const Snapshot& snapshot, uint32_t job, const JobRank& rank, v1::Rank& out) {
  std::set<Qpn> listed;
  for (const JobQueuePair& qp : rank.queue_pairs) listed.insert(qp.local);
  for (size_t i = 0; i < snapshot.connections->size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      const auto& claim = snapshot.attribution->endpoints[i][end];
      const auto& other = snapshot.attribution->endpoints[i][1 - end];
      const ConnectionEndpoint& endpoint = (*snapshot.connections)[i].endpoints[end];
      if (!claim || claim->job != job || claim->rank != rank.rank || !endpoint.qpn ||
          !listed.insert(*endpoint.qpn).second) {
        continue;
      }
      AddQp(endpoint.qpn->value, other ? other->rank : -1,
            claim->source == RankSource::kRdmaResource ? "rdma_resource" : "connection", true, out);
    }
  }
}

void FillRank(const Snapshot& snapshot, const SeenQps& seen, uint32_t job, const JobRank& rank,
              v1::Rank& out) {
  out.set_rank(rank.rank);
  out.set_host(rank.host);
  out.set_process_id(rank.process_id);
  out.set_cuda_device(rank.cuda_device);
  out.set_gpu_bus_id(rank.gpu_bus_id);
  for (const NcclDevice& device : rank.devices) out.add_nics(device.name);
  for (const IpAddress& address : rank.addresses) out.add_addresses(ToString(address));
  if (rank.addresses.empty() && rank.oob_address) out.add_addresses(ToString(*rank.oob_address));
  for (const JobQueuePair& qp : rank.queue_pairs) {
    if (qp.role == NcclQueuePairRole::kFlush) continue;  // loopback: never on the wire
    AddQp(qp.local.value, qp.peer.peer_rank, "nccl_log", IsSeen(seen, rank, qp), out);
    if (qp.candidates == nullptr) continue;
    for (const JobPeer& candidate : *qp.candidates) {
      out.mutable_queue_pairs()->rbegin()->add_candidate_peer_ranks(candidate.peer_rank);
    }
  }
  AddFoundQps(snapshot, job, rank, out);
}

void FillEdge(const RankEdge& edge, v1::Edge& out) {
  out.set_source_rank(edge.source_rank);
  out.set_destination_rank(edge.destination_rank);
  out.set_bytes(edge.bytes);
  out.set_messages(edge.messages);
  out.set_control_bytes(edge.control_bytes);
  out.set_control_messages(edge.control_messages);
  for (const Qpn qpn : edge.source_qpns) out.add_source_qpns(qpn.value);
  for (const Qpn qpn : edge.destination_qpns) out.add_destination_qpns(qpn.value);
  out.set_confidence(edge.confidence);
  out.set_unseen(edge.unseen);
  out.set_resent(edge.resent);
  out.set_ce_marked(edge.ce_marked);
  out.set_cnps(edge.cnps);
  out.set_first_seen_ns(ToNanoseconds(edge.first_seen));
  out.set_last_seen_ns(ToNanoseconds(edge.last_seen));
}

}  // namespace

void FillJobs(const Snapshot& snapshot, v1::ReplayReport& report) {
  const SeenQps seen = snapshot.attribution->jobs.empty() ? SeenQps() : SeenIn(snapshot);
  for (size_t j = 0; j < snapshot.attribution->jobs.size(); ++j) {
    const AttributedJob& job = snapshot.attribution->jobs[j];
    v1::Job& out = *report.add_jobs();
    out.set_id(job.job.id);
    out.set_expected_ranks(static_cast<uint32_t>(job.job.rank_count));
    for (const JobRank& rank : job.job.ranks) {
      FillRank(snapshot, seen, static_cast<uint32_t>(j), rank, *out.add_ranks());
    }
    for (const RankEdge& edge : job.edges) FillEdge(edge, *out.add_edges());
    for (const std::string& note : job.job.notes) out.add_notes(note);
  }
}

}  // namespace rocescope
