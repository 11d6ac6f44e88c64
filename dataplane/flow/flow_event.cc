// SPDX-License-Identifier: BSD-3-Clause
// Updates of a flow entry for packets other than the next one of a WRITE in progress.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "dataplane/flow/emit.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/wire/ip.h"

namespace rocescope {
namespace {

template <typename T>
void IncrementSaturating(T& counter) {
  if (counter < std::numeric_limits<T>::max()) ++counter;
}

// When a small counter is full, the flow's record becomes due, so that the counter never overflows.
template <typename T>
void Count(FlowEntry& entry, T& counter) {
  if (++counter == std::numeric_limits<T>::max()) [[unlikely]]
    entry.flags |= kFlowCounterFull;
}

uint8_t MemorySignature(uint32_t rkey) {
  return static_cast<uint8_t>(rkey ^ rkey >> 8 ^ rkey >> 16 ^ rkey >> 24);
}

uint32_t SaturateTo32(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

// Indexed by wire::Operation. UD has only SENDs, which the record distinguishes by the flow's flag.
constexpr std::array<OperationClass, 10> kClassOf = {
    OperationClass::kSend,        OperationClass::kSend,         OperationClass::kWrite,
    OperationClass::kReadRequest, OperationClass::kReadResponse, OperationClass::kAcknowledge,
    OperationClass::kAcknowledge, OperationClass::kAtomic,       OperationClass::kSend,
    OperationClass::kCnp,
};
static_assert(kClassOf.size() == static_cast<size_t>(wire::Operation::kCnp) + 1);

OperationClass ClassOf(const wire::OpcodeTraits& opcode) {
  return kClassOf[static_cast<size_t>(opcode.operation)];
}

// Returns true if a message that begins at PSN 0 belongs to a recreated queue pair. A
// retransmission of packet 0 has the same memory address as the first copy and arrives within the
// timeout. A PSN 0 ahead of the highest PSN is a wrap of the sequence.
bool Restarts(const FlowEntry& entry, const RocePacket& packet, int64_t now_ns) {
  if (!entry.requests.valid() || entry.requests.Ahead(0) > 0) return false;
  constexpr int64_t kLongerThanAnyRetry = 60'000'000'000;
  if ((entry.flags & kFlowMessageEnded) != 0 &&
      now_ns - entry.message_end_ns > kLongerThanAnyRetry) {
    return true;
  }
  if (!packet.HasReth()) return false;
  const uint32_t rkey = packet.GetReth().rkey;
  if ((entry.flags & kFlowZeroKnown) != 0) return MemorySignature(rkey) != entry.zero_memory;
  return entry.last_rkey != 0 && rkey != entry.last_rkey;
}

// A duplicate that came over another hop, which the sender did not retransmit.
void CountHopCopy(FlowEntry& entry, const RocePacket& packet, PsnTracker& tracker) {
  if (packet.mac_signature == entry.mac_signature) return;
  tracker.UndoRetransmission();
  Count(entry, entry.hop_copies);
}

}  // namespace

// Returns true if this flow has not had the packet before.
inline bool FlowTable::AccountPsn(FlowEntry& entry, const RocePacket& packet,
                                  const wire::OpcodeTraits& opcode, int64_t now_ns) {
  const uint32_t psn = packet.psn;
  const bool from_responder = opcode.operation == wire::Operation::kReadResponse;
  PsnTracker& tracker = from_responder ? entry.responses : entry.requests;
  if (!opcode.Is(wire::kOpcodeSequenced)) {
    if (opcode.Is(wire::kOpcodeDatagram)) entry.flags |= kFlowDatagrams;
    return true;
  }
  // Nearly every packet is the next one of a sequence in progress.
  const bool under_way =
      from_responder || (entry.flags & (kFlowRequestSeen | kFlowReadPending)) == kFlowRequestSeen;
  if (under_way && psn != 0 && tracker.Advance(psn)) [[likely]] {
    entry.mac_signature = packet.mac_signature;
    return true;
  }
  const PsnResult verdict = from_responder
                                ? ObserveResponse(entry, psn, opcode.Is(wire::kOpcodeStarts))
                                : ObserveRequest(entry, packet, opcode, now_ns);
  if (verdict == PsnResult::kRetransmitted) {
    CountHopCopy(entry, packet, tracker);
    return false;
  }
  if (verdict != PsnResult::kReordered) {
    entry.mac_signature = packet.mac_signature;
  } else if (tracker.reordered() == UINT16_MAX) {
    entry.flags |= kFlowCounterFull;
  }
  return true;
}

PsnResult FlowTable::ObserveResponse(FlowEntry& entry, uint32_t psn, bool starts) {
  PsnTracker& tracker = entry.responses;
  if (!starts) return tracker.Observe(psn, 0, ResponseGaps(entry));
  // Between the responses to two READs, PSNs are skipped for the requester's other requests. Only
  // the packets within one response must be consecutive.
  const bool far = tracker.valid() && std::abs(tracker.Ahead(psn)) > PsnTracker::kMaximumJump;
  if (!far) return tracker.Observe(psn, UINT32_MAX, ResponseGaps(entry));
  ResponseGaps(entry).Forget();
  tracker.Begin(psn);
  return PsnResult::kInOrder;
}

PsnResult FlowTable::ObserveRequest(FlowEntry& entry, const RocePacket& packet,
                                    const wire::OpcodeTraits& opcode, int64_t now_ns) {
  const uint32_t psn = packet.psn;
  if ((entry.flags & kFlowRequestSeen) == 0) {
    entry.flags |= kFlowRequestSeen;
    entry.first_request_psn = psn & k24BitMask;
  }
  PsnTracker& tracker = entry.requests;
  const bool zero = psn == 0 && opcode.Is(wire::kOpcodeStarts);
  PsnResult verdict;
  if (zero && Restarts(entry, packet, now_ns)) [[unlikely]] {
    verdict = tracker.Restart(psn, RequestGaps(entry));
  } else {
    uint32_t reserved = 0;
    if ((entry.flags & kFlowReadPending) != 0 && tracker.valid()) {
      reserved = ReservedByRead(entry.pending_length, tracker.Ahead(psn));
    }
    verdict = tracker.Observe(psn, reserved, RequestGaps(entry));
  }
  if (verdict == PsnResult::kFirst || verdict == PsnResult::kRestart) {
    if (zero) entry.flags |= kFlowSequenceBegan;
    entry.flags &= static_cast<uint16_t>(~(kFlowMessageEnded | kFlowZeroKnown));
  }
  if (zero && packet.HasReth() && verdict != PsnResult::kRetransmitted) {
    entry.zero_memory = MemorySignature(packet.GetReth().rkey);
    entry.flags |= kFlowZeroKnown;
  }
  if (verdict != PsnResult::kRetransmitted && verdict != PsnResult::kReordered) {
    entry.flags &= static_cast<uint16_t>(~kFlowReadPending);
  }
  return verdict;
}

inline void FlowTable::AccountMessage(FlowEntry& entry, const RocePacket& packet,
                                      const wire::OpcodeTraits& opcode, int64_t now_ns) {
  const bool request = !opcode.Is(wire::kOpcodeResponse);
  if (request || opcode.operation == wire::Operation::kReadResponse) {
    entry.payload_bytes += packet.payload_length;
  }
  if (!request) return;

  if (opcode.Is(wire::kOpcodeStarts)) {
    ++entry.messages;
    if ((entry.flags & kFlowMessageEnded) != 0 && now_ns >= entry.message_end_ns) {
      const auto gap = static_cast<uint64_t>(now_ns - entry.message_end_ns);
      ++entry.gap_count;
      entry.gap_sum_ns += gap;
      entry.gap_maximum =
          std::max(entry.gap_maximum, SaturateTo32((gap + kGapUnitNs - 1) / kGapUnitNs));
    }
  }
  // The RETH contains the message's size; the size of a SEND is known at its end.
  const bool sized_by_reth = packet.HasReth();
  wire::Reth reth;
  if (sized_by_reth) {
    reth = packet.GetReth();
    Count(entry, entry.message_sizes[MessageSizeBin(reth.dma_length)]);
    entry.last_rkey = reth.rkey;
  } else if (opcode.operation == wire::Operation::kSend) {
    entry.pending_length =
        (opcode.Is(wire::kOpcodeStarts) ? 0 : entry.pending_length) + packet.payload_length;
    if (opcode.Is(wire::kOpcodeEnds))
      Count(entry, entry.message_sizes[MessageSizeBin(entry.pending_length)]);
  } else if (opcode.operation == wire::Operation::kAtomic) {
    constexpr uint32_t kAtomicOperand = 8;
    Count(entry, entry.message_sizes[MessageSizeBin(kAtomicOperand)]);
  }
  if (opcode.operation == wire::Operation::kReadRequest && sized_by_reth) {
    entry.pending_length = reth.dma_length;
    entry.flags |= kFlowReadPending;
  }
  if (opcode.Is(wire::kOpcodeEnds)) {
    entry.message_end_ns = now_ns;
    entry.flags |= kFlowMessageEnded;
  }
}

inline void FlowTable::AccountAcknowledge(FlowEntry& entry, const RocePacket& packet) {
  const wire::Aeth aeth = packet.GetAeth();
  switch (wire::KindOf(aeth)) {
    case wire::AethKind::kAck:
      entry.credits = wire::ValueOf(aeth);
      break;
    case wire::AethKind::kRnrNak:
      Count(entry, entry.naks[static_cast<size_t>(NakKind::kReceiverNotReady)]);
      break;
    case wire::AethKind::kNak:
      Count(entry, entry.naks[static_cast<size_t>(NakKindOf(wire::ValueOf(aeth)))]);
      break;
    case wire::AethKind::kReserved:
      Count(entry, entry.naks[static_cast<size_t>(NakKind::kOther)]);
      break;
  }
}

inline void FlowTable::MeasureRoundTrip(FlowEntry& entry, const RocePacket& packet,
                                        const wire::OpcodeTraits& opcode, uint64_t at_tap,
                                        int64_t now_ns) {
  if (!opcode.Is(wire::kOpcodeAcknowledged)) return;
  const uint32_t number = NumberOf(entry);
  if (!opcode.Is(wire::kOpcodeResponse)) {
    if (packet.ack_request) probes_.Remember(at_tap, now_ns, number);
    return;
  }
  if (opcode.operation != wire::Operation::kAcknowledge) return;
  RoundTripProbes::Probe* probe = probes_.Find(at_tap);
  if (probe == nullptr) return;
  const FlowEntry& request = entries_[probe->flow];
  if (request.source != entry.destination || request.destination != entry.source ||
      request.segment != entry.segment || now_ns < probe->sent_ns) {
    return;
  }
  // Several queue pairs of a host pair can use the same PSN at the same time, so a peer is used
  // only if it matched repeatedly.
  constexpr uint8_t kBelieved = 2;
  constexpr uint8_t kMaximumScore = 16;
  if (entry.peer == probe->flow) {
    if (entry.peer_score < kMaximumScore) ++entry.peer_score;
  } else if (entry.peer_score > 0) {
    --entry.peer_score;
    return;
  } else {
    entry.peer = probe->flow;
    entry.peer_score = 1;
  }
  probe->waiting = false;
  if (entry.peer_score < kBelieved) return;
  const uint32_t elapsed = SaturateTo32(static_cast<uint64_t>(now_ns - probe->sent_ns));
  entry.round_trip_minimum_ns =
      entry.round_trip_count == 0 ? elapsed : std::min(entry.round_trip_minimum_ns, elapsed);
  entry.round_trip_maximum_ns = std::max(entry.round_trip_maximum_ns, elapsed);
  entry.round_trip_sum_ns += elapsed;
  ++entry.round_trip_count;
}

// Rules in addition to the hash of the PSN.
inline bool FlowTable::IsSightedOtherwise(const RocePacket& packet, const ClearToSend* grant,
                                          uint64_t pair) {
  if (packet.HasReth()) {
    return observation_budget_.Chooses(HashAddress(pair, packet.GetReth().virtual_address)) ||
           (grant != nullptr && observation_budget_.Chooses(HashAddress(pair, grant->address)));
  }
  const bool always = packet.opcode == wire::kOpcodeCnp ||
                      (packet.HasAeth() && wire::KindOf(packet.GetAeth()) != wire::AethKind::kAck);
  return always && observation_budget_.AdmitAlways();
}

void FlowTable::Sight(const FlowEntry& entry, const RocePacket& packet, const ClearToSend* grant,
                      Timestamp event, Timestamp arrival, RecordBatch& out) const {
  out.sightings.push_back(MakeObservation(entry, NumberOf(entry), packet, grant,
                                          observation_budget_.exponent(), event, arrival));
}

void FlowTable::ProcessEvent(FlowEntry& entry, const RocePacket& packet, const Place& place,
                             Timestamp event, Timestamp arrival, RecordBatch& out) {
  const int64_t now_ns = ToNanoseconds(event);
  const wire::OpcodeTraits& opcode = packet.Traits();
  if ((entry.flags & open_.flag) == 0) {
    if ((entry.flags & closing_.flag) != 0) Emit(entry, closing_start_ns_, out);
    Activate(entry, now_ns);
    open_.flows[open_.count++] = NumberOf(entry);
  }
  entry.bytes += packet.wire_length;
  entry.last_seen_ns = std::max(entry.last_seen_ns, now_ns);
  ++entry.class_packets[static_cast<size_t>(ClassOf(opcode))];
  if (packet.Ecn() == wire::kEcnCe) ++entry.ce_marked;
  if (packet.udp_source_port != entry.udp_source_port) {
    entry.udp_source_port = packet.udp_source_port;
    IncrementSaturating(entry.udp_source_port_changes);
  }

  ClearToSend grant;
  const bool granted = ReadClearToSend(packet, grant);
  if (AccountPsn(entry, packet, opcode, now_ns) && opcode.operation != wire::Operation::kCnp) {
    AccountMessage(entry, packet, opcode, now_ns);
    if (granted) {
      Count(entry, entry.control_messages);
      entry.control_bytes += packet.payload_length;
    }
  }
  if (packet.HasAeth()) AccountAcknowledge(entry, packet);
  MeasureRoundTrip(entry, packet, opcode, AtTap(place.psn_hash, place.identity), now_ns);
  const ClearToSend* grant_or_none = granted ? &grant : nullptr;
  if (observation_budget_.Chooses(place.psn_hash) ||
      IsSightedOtherwise(packet, grant_or_none, place.pair)) {
    Sight(entry, packet, grant_or_none, event, arrival, out);
  }
  observation_budget_.CountEligible();
  if ((entry.flags & kFlowCounterFull) != 0) [[unlikely]] {
    Emit(entry, interval_start_ns_, out);
    Activate(entry, now_ns);  // the flow keeps its position in the active list
  }
  if (closes_) [[unlikely]]
    CloseSome(kClosedPerPacket, out);
}

}  // namespace rocescope
