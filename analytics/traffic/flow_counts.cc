// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/flow_counts.h"

#include <algorithm>
#include <numeric>

namespace rocescope {
namespace {

template <typename T, size_t N>
void AddEach(std::array<T, N>& to, const std::array<T, N>& from) {
  for (size_t i = 0; i < N; ++i) to[i] += from[i];
}

uint64_t Less(uint64_t a, uint64_t b) { return a - std::min(a, b); }

}  // namespace

void FlowOutline::Add(const FlowOutline& later, bool has_acks) {
  dscp_changed |= later.dscp_changed || (packets > 0 && dscp != later.dscp);
  ttl = later.ttl;
  dscp = later.dscp;
  began |= later.began;
  if (has_acks) last_credits = later.last_credits;
  udp_source_port = later.udp_source_port;
  udp_source_port_changes += later.udp_source_port_changes;
  if (later.last_rkey != 0) last_rkey = later.last_rkey;
  first_seen = packets == 0 ? later.first_seen : std::min(first_seen, later.first_seen);
  last_seen = packets == 0 ? later.last_seen : std::max(last_seen, later.last_seen);
  packets += later.packets;
  bytes += later.bytes;
  payload_bytes += later.payload_bytes;
}

void AddTo(DurationSummary& to, const DurationSummary& from) {
  if (from.count == 0) return;
  to.minimum = to.count == 0 ? from.minimum : std::min(to.minimum, from.minimum);
  to.maximum = std::max(to.maximum, from.maximum);
  // The sum of a few extreme durations overflows 64 bits.
  int64_t sum = 0;
  const bool too_much = __builtin_add_overflow(to.sum.count(), from.sum.count(), &sum);
  to.sum = too_much ? Duration::max() : Duration(sum);
  to.count += from.count;
}

uint64_t FlowCounts::Naks() const { return std::accumulate(naks.begin(), naks.end(), uint64_t{0}); }

uint64_t FlowCounts::FirstCopies() const { return Less(packets, retransmitted + hop_copies); }

uint64_t FlowCounts::SequencedCopies() const {
  const uint64_t others = ClassPackets(OperationClass::kAcknowledge) +
                          ClassPackets(OperationClass::kCnp) +
                          ClassPackets(OperationClass::kDatagram);
  return Less(Less(packets, others), retransmitted + hop_copies);
}

FlowCounts& FlowCounts::operator+=(const FlowCounts& later) {
  if (later.packets == 0) return *this;
  Add(later, later.ClassPackets(OperationClass::kAcknowledge) != 0);
  AddEach(class_packets, later.class_packets);
  messages += later.messages;
  control_messages += later.control_messages;
  control_bytes += later.control_bytes;
  hop_copies += later.hop_copies;
  AddEach(message_sizes, later.message_sizes);
  missing += later.missing;
  reordered += later.reordered;
  retransmitted += later.retransmitted;
  restarts += later.restarts;
  AddEach(naks, later.naks);
  ce_marked += later.ce_marked;
  AddTo(ack_round_trip, later.ack_round_trip);
  AddTo(message_gap, later.message_gap);
  return *this;
}

FlowCounts CountsOf(const FlowRecord& record) {
  FlowCounts counts;
  static_cast<FlowOutline&>(counts) = {.ttl = record.ttl,
                                       .dscp = record.dscp,
                                       .dscp_changed = record.dscp_changed,
                                       .began = record.began,
                                       .last_credits = record.last_credits,
                                       .udp_source_port = record.udp_source_port,
                                       .udp_source_port_changes = record.udp_source_port_changes,
                                       .last_rkey = record.last_rkey,
                                       .first_seen = record.first_seen,
                                       .last_seen = record.last_seen,
                                       .packets = record.packets,
                                       .bytes = record.bytes,
                                       .payload_bytes = record.payload_bytes};
  counts.messages = record.messages;
  counts.control_messages = record.control_messages;
  counts.control_bytes = record.control_bytes;
  counts.hop_copies = record.hop_copies;
  counts.missing =
      static_cast<uint64_t>(int64_t{record.requests.missing} + record.responses.missing);
  counts.reordered = uint64_t{record.requests.reordered} + record.responses.reordered;
  counts.retransmitted = uint64_t{record.requests.retransmitted} + record.responses.retransmitted;
  counts.restarts = uint64_t{record.requests.restarts} + record.responses.restarts;
  counts.ce_marked = record.ce_marked;
  counts.ack_round_trip = record.ack_round_trip;
  counts.message_gap = record.message_gap;
  std::copy(record.class_packets.begin(), record.class_packets.end(), counts.class_packets.begin());
  std::copy(record.message_sizes.begin(), record.message_sizes.end(), counts.message_sizes.begin());
  std::copy(record.naks.begin(), record.naks.end(), counts.naks.begin());
  return counts;
}

}  // namespace rocescope
