// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "appliance/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

std::string_view NameOf(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::kManagement:
      return "cm";
    case EvidenceKind::kRdmaResource:
      return "rdma_resource";
    case EvidenceKind::kNcclLog:
      return "nccl_log";
    case EvidenceKind::kRethEcho:
      return "reth_echo";
    case EvidenceKind::kPsnEcho:
      return "psn_echo";
  }
  return "";
}

std::string ExampleOf(const ConnectionEvidence& evidence) {
  switch (evidence.kind) {
    case EvidenceKind::kManagement:
      return fmt::format("ConnectRequest of communication id {:#x} was answered by {:#x}",
                         evidence.comm_ids[0], evidence.comm_ids[1]);
    case EvidenceKind::kRdmaResource:
      return "rdma resource names both queue pair numbers";
    case EvidenceKind::kNcclLog:
      return "the NCCL log names both queue pair numbers";
    case EvidenceKind::kRethEcho:
      return fmt::format("a WRITE used address {:#x} with rkey {:#x}, granted the other way",
                         evidence.address, evidence.rkey);
    case EvidenceKind::kPsnEcho:
      return fmt::format("PSN {} was answered after {:.1f} us", evidence.psn,
                         static_cast<double>((evidence.echo_time - evidence.cause_time).count()) /
                             1000.0);
  }
  return "";
}

void FillEndpoint(const ConnectionEndpoint& endpoint, const std::optional<RankClaim>& claim,
                  const Attribution& attribution, v1::Endpoint& out) {
  out.set_segment(endpoint.segment);
  out.set_address(ToString(endpoint.address));
  out.set_qpn(endpoint.qpn ? int64_t{endpoint.qpn->value} : -1);
  out.set_rank(-1);
  if (!claim) return;
  const Job& job = attribution.jobs[claim->job].job;
  out.set_job(job.id);
  out.set_rank(claim->rank);
  for (const JobRank& rank : job.ranks) {
    if (rank.rank == claim->rank) out.set_host(rank.host);
  }
}

uint64_t FillDirection(const ConnectionEndpoint& from, const ConnectionEndpoint& to,
                       const FlowIds& flows, v1::Direction& out) {
  if (!to.qpn) return 0;
  const auto at = flows.find({.source = from.address,
                              .destination = to.address,
                              .destination_qpn = *to.qpn,
                              .segment = to.segment});
  if (at == flows.end()) return 0;
  const FlowStream& total = at->second.summary->total;
  out.set_flow_id(at->second.id);
  out.set_data_bytes(total.payload_bytes - total.control_bytes);
  out.set_data_messages(total.messages - total.control_messages);
  out.set_control_messages(total.control_messages);
  return total.bytes;
}

v1::Connection::State StateOf(ConnectionState state) {
  switch (state) {
    case ConnectionState::kPaired:
      return v1::Connection::STATE_PAIRED;
    case ConnectionState::kAmbiguous:
      return v1::Connection::STATE_AMBIGUOUS;
    case ConnectionState::kOneSided:
      return v1::Connection::STATE_ONE_SIDED;
  }
  return v1::Connection::STATE_UNSPECIFIED;
}

}  // namespace

void FillConnections(const Snapshot& snapshot, const FlowIds& flows, v1::ReplayReport& report) {
  struct Row {
    uint64_t bytes;
    v1::Connection message;
  };
  std::vector<Row> rows;
  rows.reserve(snapshot.connections->size());
  for (size_t i = 0; i < snapshot.connections->size(); ++i) {
    const Connection& connection = (*snapshot.connections)[i];
    const auto& claims = snapshot.attribution->endpoints[i];
    Row row{.bytes = 0, .message = {}};
    v1::Connection& out = row.message;
    out.set_state(StateOf(connection.state));
    FillEndpoint(connection.endpoints[0], claims[0], *snapshot.attribution, *out.mutable_a());
    FillEndpoint(connection.endpoints[1], claims[1], *snapshot.attribution, *out.mutable_b());
    out.set_transport(connection.transport == ConnectionTransport::kReliable ? "RC" : "UC");
    out.set_confidence(connection.confidence);
    for (const ConnectionEvidence& evidence : connection.evidence) {
      v1::Evidence& e = *out.add_evidence();
      e.set_kind(std::string(NameOf(evidence.kind)));
      e.set_count(evidence.count);
      e.set_of(evidence.of);
      e.set_example(ExampleOf(evidence));
    }
    for (const ConnectionCandidate& candidate : connection.candidates) {
      v1::Candidate& c = *out.add_candidates();
      c.set_qpn(candidate.qpn.value);
      c.set_posterior(candidate.posterior);
    }
    out.set_stripe_group(connection.stripe_group);
    out.set_valid_from_ns(ToNanoseconds(connection.valid_from));
    out.set_beginning_seen(connection.beginning_seen);
    out.set_valid_until_ns(connection.valid_until ? ToNanoseconds(*connection.valid_until) : 0);
    const auto& [a, b] = connection.endpoints;
    row.bytes = FillDirection(a, b, flows, *out.mutable_a_to_b()) +
                FillDirection(b, a, flows, *out.mutable_b_to_a());
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& x, const Row& y) { return x.bytes > y.bytes; });
  report.mutable_connections()->Reserve(static_cast<int>(rows.size()));
  for (Row& row : rows) *report.add_connections() = std::move(row.message);
}

}  // namespace rocescope
