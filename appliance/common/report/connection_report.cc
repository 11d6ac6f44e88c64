// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

v1::Evidence::Kind MessageOf(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::kManagement:
      return v1::Evidence::KIND_CM;
    case EvidenceKind::kRdmaResource:
      return v1::Evidence::KIND_RDMA_RESOURCE;
    case EvidenceKind::kNcclLog:
      return v1::Evidence::KIND_NCCL_LOG;
    case EvidenceKind::kRethEcho:
      return v1::Evidence::KIND_RETH_ECHO;
    case EvidenceKind::kPsnEcho:
      return v1::Evidence::KIND_PSN_ECHO;
  }
  return v1::Evidence::KIND_UNSPECIFIED;
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
      return fmt::format(
          "a WRITE used address {:#x} with rkey {:#x}, advertised in the other direction",
          evidence.address, evidence.rkey);
    case EvidenceKind::kPsnEcho:
      return fmt::format(
          "PSN {} was acknowledged after {:.1f} us", evidence.psn,
          static_cast<double>((evidence.echo_time - evidence.cause_time).count()) / 1000.0);
  }
  return "";
}

void FillEndpoint(const ConnectionEndpoint& endpoint, const std::optional<RankClaim>& claim,
                  const Attribution& attribution, v1::Endpoint& out) {
  if (endpoint.segment != 0) out.set_vni(endpoint.segment - 1);
  out.set_address(ToString(endpoint.address));
  if (endpoint.qpn) out.set_qpn(endpoint.qpn->value);
  if (!claim) return;
  const Job& job = attribution.jobs[claim->job].job;
  out.set_job_id(job.id);
  if (claim->rank >= 0) out.set_rank(claim->rank);
  out.set_rank_source(MessageOf(claim->source));
  out.set_rank_confidence(claim->confidence);
  if (claim->member < 0) return;
  const JobRank& rank = job.ranks[static_cast<size_t>(claim->member)];
  out.set_host(rank.host);
  out.set_process_id(rank.process_id);
}

const FlowReference* FindFlow(const ConnectionEndpoint& from, const ConnectionEndpoint& to,
                              const FlowIds& flows) {
  if (!to.qpn) return nullptr;
  const auto at = flows.find({.source = from.address,
                              .destination = to.address,
                              .destination_qpn = *to.qpn,
                              .segment = to.segment});
  return at == flows.end() ? nullptr : &at->second;
}

// Traffic from one end to the other while the connection owned its queue pair numbers.
const FlowCounts* CarriedBy(const Connection& connection, const FlowReference* flow) {
  return flow == nullptr ? nullptr : flow->summary->Of(connection.valid_until);
}

uint64_t BytesOf(const Connection& connection, size_t from, const FlowIds& flows) {
  const FlowCounts* carried = CarriedBy(
      connection, FindFlow(connection.endpoints[from], connection.endpoints[1 - from], flows));
  return carried == nullptr ? 0 : carried->bytes;
}

void FillDirection(const Connection& connection, size_t from, const FlowIds& flows,
                   v1::Direction& out) {
  const FlowReference* flow =
      FindFlow(connection.endpoints[from], connection.endpoints[1 - from], flows);
  const FlowCounts* carried = CarriedBy(connection, flow);
  if (carried == nullptr) return;
  const FlowReference* back =
      FindFlow(connection.endpoints[1 - from], connection.endpoints[from], flows);
  const DirectionData data = DataOf(*carried, CarriedBy(connection, back));
  out.set_flow_id(flow->id);
  out.set_data_bytes(data.bytes);
  out.set_data_messages(data.messages);
  out.set_control_messages(data.control_messages);
}

// The direction in which the echo itself travelled.
void FillSide(const ConnectionEvidence& evidence, const Connection& connection,
              const FlowIds& flows, v1::Evidence& out) {
  if (evidence.kind != EvidenceKind::kRethEcho && evidence.kind != EvidenceKind::kPsnEcho) return;
  const size_t from = evidence.echoed_by;
  out.set_direction(from == 0 ? v1::Evidence::DIRECTION_A_TO_B : v1::Evidence::DIRECTION_B_TO_A);
  const FlowReference* flow =
      FindFlow(connection.endpoints[from], connection.endpoints[1 - from], flows);
  if (flow != nullptr) out.set_flow_id(flow->id);
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
    uint32_t index;
  };
  std::vector<Row> rows;
  rows.reserve(snapshot.connections->size());
  for (uint32_t i = 0; i < snapshot.connections->size(); ++i) {
    const Connection& connection = (*snapshot.connections)[i];
    rows.push_back(
        {.bytes = BytesOf(connection, 0, flows) + BytesOf(connection, 1, flows), .index = i});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& x, const Row& y) { return x.bytes > y.bytes; });
  StripeNumbers stripes;
  for (const Connection& connection : *snapshot.connections) stripes.Of(connection);
  report.mutable_connections()->Reserve(static_cast<int>(rows.size()));
  for (const auto& [bytes, i] : rows) {
    const Connection& connection = (*snapshot.connections)[i];
    const auto& claims = snapshot.attribution->endpoints[i];
    v1::Connection& out = *report.add_connections();
    out.set_state(StateOf(connection.state));
    FillEndpoint(connection.endpoints[0], claims[0], *snapshot.attribution, *out.mutable_a());
    FillEndpoint(connection.endpoints[1], claims[1], *snapshot.attribution, *out.mutable_b());
    out.set_transport(connection.transport == ConnectionTransport::kReliable
                          ? v1::Connection::TRANSPORT_RC
                          : v1::Connection::TRANSPORT_UC);
    out.set_confidence(connection.confidence);
    for (const ConnectionEvidence& evidence : connection.evidence) {
      v1::Evidence& e = *out.add_evidence();
      e.set_kind(MessageOf(evidence.kind));
      e.set_count(evidence.count);
      e.set_checked_count(evidence.of);
      e.set_example(ExampleOf(evidence));
      FillSide(evidence, connection, flows, e);
    }
    for (const ConnectionCandidate& candidate : connection.candidates) {
      v1::Candidate& c = *out.add_candidates();
      c.set_qpn(candidate.qpn.value);
      c.set_probability(candidate.posterior);
    }
    out.set_stripe_group(stripes.Of(connection));
    *out.mutable_valid_start_time() = TimestampMessage(connection.valid_from);
    out.set_start_seen(connection.beginning_seen);
    if (connection.valid_until) {
      *out.mutable_valid_end_time() = TimestampMessage(*connection.valid_until);
    }
    FillDirection(connection, 0, flows, *out.mutable_a_to_b());
    FillDirection(connection, 1, flows, *out.mutable_b_to_a());
  }
}

}  // namespace rocescope
