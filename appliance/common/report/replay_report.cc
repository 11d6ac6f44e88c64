// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/replay_report.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <chrono>

#include "appliance/api/message_value.h"
#include "appliance/common/report/coverage_report.h"
#include "appliance/common/report/job_report.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/telemetry_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

constexpr uint32_t kSchemaVersion = 1;

void FillOperations(const FlowCounts& counts, v1::Operations& out) {
  out.set_send(counts.ClassPackets(OperationClass::kSend));
  out.set_write(counts.ClassPackets(OperationClass::kWrite));
  out.set_read_request(counts.ClassPackets(OperationClass::kReadRequest));
  out.set_read_response(counts.ClassPackets(OperationClass::kReadResponse));
  out.set_atomic(counts.ClassPackets(OperationClass::kAtomic));
  out.set_acknowledge(counts.ClassPackets(OperationClass::kAcknowledge));
  out.set_cnp(counts.ClassPackets(OperationClass::kCnp));
  out.set_datagram(counts.ClassPackets(OperationClass::kDatagram));
}

void FillTrouble(const FlowCounts& counts, v1::Flow& out) {
  out.mutable_loss()->set_missing_packets(counts.missing);
  out.mutable_loss()->set_reordered_packets(counts.reordered);
  out.mutable_loss()->set_retransmitted_packets(counts.retransmitted);
  out.mutable_loss()->set_restart_count(counts.restarts);
  const auto nak = [&](NakKind kind) { return counts.naks[static_cast<size_t>(kind)]; };
  v1::Naks& naks = *out.mutable_naks();
  naks.set_receiver_not_ready(nak(NakKind::kReceiverNotReady));
  naks.set_sequence_error(nak(NakKind::kSequenceError));
  naks.set_invalid_request(nak(NakKind::kInvalidRequest));
  naks.set_remote_access(nak(NakKind::kRemoteAccess));
  naks.set_remote_operation(nak(NakKind::kRemoteOperation));
  naks.set_other(nak(NakKind::kOther));
  out.set_ce_marked_packets(counts.ce_marked);
}

Duration MeanOf(const DurationSummary& summary) {
  return summary.sum / static_cast<int64_t>(summary.count);
}

void FillTiming(const FlowCounts& counts, v1::Flow& out) {
  const DurationSummary& trip = counts.ack_round_trip;
  v1::RoundTrip& round_trip = *out.mutable_ack_round_trip();
  round_trip.set_count(trip.count);
  if (trip.count > 0) {
    *round_trip.mutable_mean_duration() = DurationMessage(MeanOf(trip));
    *round_trip.mutable_minimum_duration() = DurationMessage(trip.minimum);
    *round_trip.mutable_maximum_duration() = DurationMessage(trip.maximum);
  }
  const DurationSummary& gap = counts.message_gap;
  out.mutable_message_gap()->set_count(gap.count);
  if (gap.count > 0) {
    *out.mutable_message_gap()->mutable_mean_duration() = DurationMessage(MeanOf(gap));
    *out.mutable_message_gap()->mutable_maximum_duration() = DurationMessage(gap.maximum);
  }
}

void FillFlow(const FlowSummary& flow, const std::vector<Tap>& taps, v1::Flow& out) {
  constexpr uint8_t kNoCredits = 31;
  const FlowCounts& total = flow.total;
  if (flow.flow.segment != 0) out.set_vni(flow.flow.segment - 1);
  out.set_source(ToString(flow.flow.source));
  out.set_destination(ToString(flow.flow.destination));
  out.set_destination_qpn(flow.flow.destination_qpn.value);
  for (size_t i = 0; i < flow.streams.size(); ++i) {
    if (i > 0 && flow.streams[i].tap == flow.streams[i - 1].tap) continue;
    out.add_taps(taps[flow.streams[i].tap].name);
  }
  *out.mutable_first_seen_time() = TimestampMessage(total.first_seen);
  *out.mutable_last_seen_time() = TimestampMessage(total.last_seen);
  out.set_packets(total.packets);
  out.set_bytes(total.bytes);
  out.set_payload_bytes(total.payload_bytes);
  out.set_messages(total.messages);
  out.set_control_messages(total.control_messages);
  out.set_control_bytes(total.control_bytes);
  FillOperations(total, *out.mutable_operations());
  for (size_t i = 0; i < kMessageSizeBins; ++i) {
    if (total.message_sizes[i] == 0) continue;
    v1::SizeBin& bin = *out.add_message_sizes();
    if (i < kMessageSizeBounds.size()) bin.set_max_bytes(kMessageSizeBounds[i]);
    bin.set_messages(total.message_sizes[i]);
  }
  FillTrouble(total, out);
  FillTiming(total, out);
  out.set_ttl(total.ttl);
  out.set_dscp(total.dscp);
  out.set_dscp_changed(total.dscp_changed);
  out.set_udp_source_port(total.udp_source_port);
  out.set_udp_source_port_change_count(total.udp_source_port_changes);
  out.set_last_rkey(total.last_rkey);
  if (total.last_credits != kNoCredits) out.set_last_credit_code(total.last_credits);
  out.set_hop_copy_packets(total.hop_copies);
}

void FillTotals(const ReplayFindings& findings, v1::Totals& out) {
  const FrameProcessor::Counters& counters = findings.dataplane.counters;
  // Includes flows that were evicted from a full table.
  FlowCounts sum = findings.snapshot.traffic_statistics.evicted;
  for (const FlowSummary& flow : *findings.snapshot.flows) sum += flow.total;
  out.set_flow_count(findings.snapshot.flows->size());
  out.set_packets(sum.packets);
  out.set_bytes(sum.bytes);
  out.set_payload_bytes(sum.payload_bytes);
  out.set_messages(sum.messages);
  out.set_missing_packets(sum.missing);
  out.set_reordered_packets(sum.reordered);
  out.set_retransmitted_packets(sum.retransmitted);
  out.set_nak_packets(sum.Naks());
  out.set_ce_marked_packets(sum.ce_marked);
  out.set_cnp_packets(sum.ClassPackets(OperationClass::kCnp));
  uint64_t by_state[3] = {};
  for (const Connection& connection : *findings.snapshot.connections) {
    ++by_state[static_cast<size_t>(connection.state)];
  }
  out.set_paired_connection_count(by_state[static_cast<size_t>(ConnectionState::kPaired)]);
  out.set_ambiguous_connection_count(by_state[static_cast<size_t>(ConnectionState::kAmbiguous)]);
  out.set_one_sided_connection_count(by_state[static_cast<size_t>(ConnectionState::kOneSided)]);
  out.set_pause_frames(counters.pause_frames);
  out.set_truncated_frames(counters.cut_frames);
  out.set_icrc_valid_frames(counters.icrc_valid);
  out.set_icrc_invalid_frames(counters.icrc_invalid);
  out.set_int_frames(counters.int_frames);
  out.set_sflow_frames(counters.sflow_frames);
}

// A clear-to-send is recognised by the bytes after its WRITE's headers: 18 (Ethernet and a VLAN
// tag), 20 (IPv4), 8 (UDP), 12 (BTH), 16 (RETH) and the first 20 of its own; ERSPAN adds at most
// 62.
std::string NoteOnCutting(const v1::ReplayReport& report) {
  const uint32_t enough = report.coverage().mirrors_size() > 0 ? 160 : 96;
  const uint64_t cut = report.totals().truncated_frames();
  if (cut == 0 || report.coverage().longest_truncated_frame_bytes() >= enough) return {};
  return fmt::format(
      "{} of {} frames were truncated at {} bytes: capture at least {} bytes to distinguish "
      "clear-to-send messages from data",
      WithThousands(cut), WithThousands(report.ledger().decoded()),
      report.coverage().longest_truncated_frame_bytes(), enough);
}

// The extent of all frames, including the decoded ones.
void FillExtent(const ReplayFindings& findings, v1::TimeRange& out) {
  const FrameProcessor::Counters& counters = findings.dataplane.counters;
  if (!findings.extent.first) return;
  Timestamp first = *findings.extent.first;
  Timestamp last = findings.extent.last;
  if (counters.ledger.decoded > 0) {
    first = std::min(first, counters.first);
    last = std::max(last, counters.last);
  }
  *out.mutable_start_time() = TimestampMessage(first);
  *out.mutable_end_time() = TimestampMessage(last);
}

// Sets the time that sentences about faults are relative to.
void FillZero(const ReplayFindings& findings, v1::ReplayReport& report) {
  std::optional<Timestamp> frame;
  if (report.extent().has_start_time()) {
    frame = FromNanoseconds(Nanoseconds(report.extent().start_time()));
  }
  if (const auto start = EarliestOf(frame, findings.counters.first)) {
    *report.mutable_reference_time() = TimestampMessage(*start);
  }
}

}  // namespace

std::optional<Timestamp> EarliestOf(std::optional<Timestamp> frame,
                                    std::optional<Timestamp> reading) {
  constexpr Duration kLongestLead = std::chrono::hours(24);
  if (!frame || !reading) return frame ? frame : reading;
  return *frame - *reading > kLongestLead ? *frame : std::min(*frame, *reading);
}

void FillPort(const PortFindings& port, v1::DpdkPort& out) {
  out.set_name(port.name);
  out.set_driver(port.driver);
  out.set_counted(port.counted);
  out.set_losses_counted(port.losses_counted);
  out.set_received_frames(port.received);
  out.set_missed_frames(port.missed);
  out.set_no_mbuf_frames(port.no_mbuf);
  out.set_error_frames(port.errors);
  out.set_mbuf_count(port.mbufs);
  out.set_used_mbuf_count(port.mbufs_in_use);
  out.set_peak_used_mbuf_count(port.mbufs_peak);
}

const v1::ReplayReport& BuildReplayReport(const ReplayFindings& findings,
                                          google::protobuf::Arena& arena) {
  v1::ReplayReport& report = *google::protobuf::Arena::CreateMessage<v1::ReplayReport>(&arena);
  report.set_schema_version(kSchemaVersion);
  FillLedger(findings.dataplane.counters.ledger, *report.mutable_ledger());
  const FrameProcessor::Counters& counters = findings.dataplane.counters;
  v1::TimeRange& captured = *report.mutable_captured();
  if (counters.ledger.decoded > 0) {
    *captured.mutable_start_time() = TimestampMessage(counters.first);
    *captured.mutable_end_time() = TimestampMessage(counters.last);
  }
  FillExtent(findings, *report.mutable_extent());
  FillZero(findings, report);
  const std::vector<Tap>& taps = findings.dataplane.taps;
  for (size_t i = 0; i < taps.size(); ++i) {
    const Tap& tap = taps[i];
    // A mirror of traffic other than RoCE.
    if (tap.frames == 0 && tap.capture != i) continue;
    v1::Tap& out = *report.add_taps();
    out.set_name(tap.name);
    out.set_frames(tap.frames);
  }
  FillTotals(findings, *report.mutable_totals());

  // The largest flows first; flows of equal size in the order of their keys.
  std::vector<const FlowSummary*> order;
  order.reserve(findings.snapshot.flows->size());
  for (const FlowSummary& flow : *findings.snapshot.flows) order.push_back(&flow);
  std::ranges::sort(order, [](const FlowSummary* a, const FlowSummary* b) {
    return a->total.bytes != b->total.bytes ? a->total.bytes > b->total.bytes : a->flow < b->flow;
  });
  FlowIds ids(order.size());
  report.mutable_flows()->Reserve(static_cast<int>(order.size()));
  for (const FlowSummary* flow : order) {
    v1::Flow& out = *report.add_flows();
    out.set_id(static_cast<uint32_t>(report.flows_size()));
    FillFlow(*flow, taps, out);
    ids.emplace(flow->flow, FlowReference{.id = out.id(), .summary = flow});
  }
  FillConnections(findings.snapshot, ids, report);
  FillJobs(findings.snapshot, report);
  FillPaths(findings.snapshot, report);
  FillHotspots(findings.snapshot, report);
  FillAnomalies(findings.snapshot, report);
  FillServiceLevels(findings.snapshot, report);
  FillFindings(findings.snapshot, report);
  FillCabling(findings.snapshot, report);
  FillClocks(findings.snapshot, taps, report);
  FillTelemetry(findings, *report.mutable_telemetry());
  FillCoverage(findings, *report.mutable_coverage());
  for (const PortFindings& port : findings.ports) FillPort(port, *report.add_dpdk_ports());
  for (const std::string& note : findings.notes) report.add_notes(note);
  if (std::string note = NoteOnCutting(report); !note.empty()) report.add_notes(std::move(note));
  return report;
}

}  // namespace rocescope
