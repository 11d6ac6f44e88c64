// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/emit.h"

#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {
namespace {

Duration DurationOf(uint64_t nanoseconds) {
  return Duration(static_cast<int64_t>(std::min<uint64_t>(nanoseconds, INT64_MAX)));
}

PsnCounts CountsOf(const PsnTracker& tracker) {
  return {.missing = tracker.missing(),
          .reordered = tracker.reordered(),
          .retransmitted = tracker.retransmitted(),
          .restarts = tracker.restarts(),
          .valid = tracker.valid(),
          .last_psn = tracker.highest()};
}

ObservationKind KindOfObservation(const RocePacket& packet, const wire::OpcodeTraits& opcode) {
  if (opcode.operation == wire::Operation::kCnp) return ObservationKind::kCnp;
  if (opcode.Is(wire::kOpcodeDatagram)) return ObservationKind::kDatagram;
  if (opcode.operation == wire::Operation::kAcknowledge && packet.HasAeth()) {
    return wire::KindOf(packet.GetAeth()) == wire::AethKind::kAck ? ObservationKind::kAcknowledge
                                                                  : ObservationKind::kNak;
  }
  return opcode.Is(wire::kOpcodeResponse) ? ObservationKind::kResponse : ObservationKind::kRequest;
}

}  // namespace

NakKind NakKindOf(uint8_t code) {
  switch (code) {
    case wire::kNakPsnSequenceError:
      return NakKind::kSequenceError;
    case wire::kNakInvalidRequest:
      return NakKind::kInvalidRequest;
    case wire::kNakRemoteAccessError:
      return NakKind::kRemoteAccess;
    case wire::kNakRemoteOperationalError:
      return NakKind::kRemoteOperation;
    default:
      return NakKind::kOther;
  }
}

uint32_t ReservedByRead(uint32_t length, int32_t ahead) {
  uint32_t best = 0;
  for (uint32_t mtu = 4096; mtu >= 256; mtu /= 2) {
    const uint32_t packets = std::max<uint32_t>(1, length / mtu + (length % mtu != 0));
    if (static_cast<int32_t>(packets) <= ahead) best = packets - 1;
  }
  return best;
}

FlowRecord MakeFlowRecord(const FlowEntry& entry, uint32_t number, Timestamp interval_start,
                          Duration width) {
  FlowRecord record{.flow = entry.Key(),
                    .hint = number,
                    .tap = entry.Tap(),
                    .ttl = entry.Ttl(),
                    .dscp = entry.Dscp(),
                    .dscp_changed = (entry.flags & kFlowDscpChanged) != 0,
                    .udp_source_port = entry.udp_source_port,
                    .udp_source_port_changes = entry.udp_source_port_changes,
                    .interval_start = interval_start,
                    .interval_width = width,
                    // Only late packets precede the start of the interval.
                    .first_seen = std::min(interval_start + Duration(entry.first_seen_offset_ns),
                                           FromNanoseconds(entry.last_seen_ns)),
                    .last_seen = FromNanoseconds(entry.last_seen_ns),
                    .bytes = entry.bytes,
                    .payload_bytes = entry.payload_bytes,
                    .hop_copies = entry.hop_copies,
                    .messages = entry.messages,
                    .control_messages = entry.control_messages,
                    .control_bytes = entry.control_bytes,
                    .requests = CountsOf(entry.requests),
                    .responses = CountsOf(entry.responses),
                    .last_credits = entry.credits,
                    .ce_marked = entry.ce_marked,
                    .last_rkey = entry.last_rkey,
                    .first_request_psn = entry.first_request_psn,
                    .began = (entry.flags & kFlowSequenceBegan) != 0,
                    .ack_round_trip = {.count = entry.round_trip_count,
                                       .sum = DurationOf(entry.round_trip_sum_ns),
                                       .minimum = Duration(entry.round_trip_minimum_ns),
                                       .maximum = Duration(entry.round_trip_maximum_ns)},
                    .message_gap = {.count = entry.gap_count,
                                    .sum = DurationOf(entry.gap_sum_ns),
                                    .maximum = Duration(entry.gap_maximum * kGapUnitNs)}};
  record.requests.valid = (entry.flags & kFlowRequestSeen) != 0;
  for (size_t i = 0; i < entry.class_packets.size(); ++i) {
    record.class_packets[i] = entry.class_packets[i];
    record.packets += entry.class_packets[i];
  }
  if ((entry.flags & kFlowDatagrams) != 0) {
    constexpr auto kSend = static_cast<size_t>(OperationClass::kSend);
    record.class_packets[static_cast<size_t>(OperationClass::kDatagram)] =
        record.class_packets[kSend];
    record.class_packets[kSend] = 0;
  }
  std::copy(entry.message_sizes.begin(), entry.message_sizes.end(), record.message_sizes.begin());
  std::copy(entry.naks.begin(), entry.naks.end(), record.naks.begin());
  return record;
}

void ClearInterval(FlowEntry& entry) {
  constexpr uint16_t kOfTheInterval = kFlowActive | kFlowActiveToo | kFlowDscpChanged |
                                      kFlowSequenceBegan | kFlowRequestSeen | kFlowCounterFull;
  entry.flags &= static_cast<uint16_t>(~kOfTheInterval);
  entry.bytes = 0;
  entry.requests.ClearCounts();
  entry.messages = 0;
  entry.payload_bytes = 0;
  entry.ce_marked = 0;
  entry.udp_source_port_changes = 0;
  entry.class_packets = {};
  entry.gap_maximum = 0;
  entry.gap_sum_ns = 0;
  entry.message_sizes = {};
  entry.gap_count = 0;
  entry.responses.ClearCounts();
  entry.round_trip_count = 0;
  entry.round_trip_minimum_ns = 0;
  entry.round_trip_sum_ns = 0;
  entry.round_trip_maximum_ns = 0;
  entry.naks = {};
  entry.control_bytes = 0;
  entry.control_messages = 0;
  entry.hop_copies = 0;
}

ObservationRecord MakeObservation(const FlowEntry& entry, uint32_t number, const RocePacket& packet,
                                  const ClearToSend* grant, uint8_t exponent, Timestamp event,
                                  Timestamp arrival) {
  const wire::OpcodeTraits& opcode = packet.Traits();
  ObservationRecord sighting{.flow = entry.Key(),
                             .hint = number,
                             .tap = entry.Tap(),
                             .kind = KindOfObservation(packet, opcode),
                             .opcode = packet.opcode,
                             .ttl = packet.ttl,
                             .rate_exponent = exponent,
                             .congestion_experienced = packet.Ecn() == wire::kEcnCe,
                             .ack_request = packet.ack_request,
                             .psn = packet.psn,
                             .payload_length = packet.payload_length,
                             .event_time = event,
                             .arrival_time = arrival};
  if (packet.HasAeth()) {
    const wire::Aeth aeth = packet.GetAeth();
    sighting.syndrome = aeth.syndrome;
    sighting.msn = aeth.msn;
  }
  if (packet.HasReth()) {
    const wire::Reth reth = packet.GetReth();
    sighting.has_reth = true;
    sighting.reth_address = reth.virtual_address;
    sighting.reth_rkey = reth.rkey;
    sighting.reth_length = reth.dma_length;
  }
  if (grant != nullptr) {
    sighting.has_clear_to_send = true;
    sighting.granted_address = grant->address;
    sighting.granted_words = grant->words;
  }
  return sighting;
}

}  // namespace rocescope
