// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/flow_table.h"

#include <algorithm>
#include <limits>

#include "dataplane/flow/emit.h"
#include "dataplane/wire/ip.h"

namespace rocescope {
namespace {

constexpr uint32_t kEvictionCandidates = 16;
constexpr uint32_t kExpirySweepShare = 16;  // of the entries, per interval

// Takes the parts and not a FlowKey: copying one right after its halves were written stalls the
// core (a 16-octet load cannot be forwarded from two 8-octet stores).
uint64_t HashOf(uint64_t source, uint64_t destination, Qpn qpn, Segment segment, TapId tap,
                uint8_t ttl) {
  const uint64_t rest = uint64_t{qpn.value} | uint64_t{ttl} << 24 | uint64_t{tap} << 32;
  return MultiplyAndFold(source ^ rest * 0x9e3779b97f4a7c15ull,
                         destination + segment * 0xd6e8feb86659fd93ull);
}

uint64_t HashOf(const FlowEntry& entry) {
  return HashOf(FoldAddress(entry.key.source), FoldAddress(entry.key.destination),
                entry.key.destination_qpn, entry.key.segment, entry.tap, entry.ttl);
}

auto HashesIn(const ZeroedArray<FlowEntry>& entries) {
  return [&entries](uint32_t number) { return HashOf(entries[number]); };
}

// Round trips are measured at one tap.
uint64_t AtTap(uint64_t psn_hash, TapId tap) { return psn_hash ^ tap * 0x9e3779b97f4a7c15ull; }

FlowKey KeyOf(const DecodedFrame& frame) {
  return {.source = frame.source,
          .destination = frame.destination,
          .destination_qpn = frame.bth.destination_qpn,
          .segment = frame.segment};
}

template <typename T>
void IncrementSaturating(T& counter) {
  if (counter < std::numeric_limits<T>::max()) ++counter;
}

// A full counter makes the flow's record due at once, so it never gets past its end.
template <typename T>
void Count(FlowEntry& entry, T& counter) {
  if (++counter == std::numeric_limits<T>::max()) [[unlikely]]
    entry.flags |= kFlowCounterFull;
}

uint8_t MemorySignature(uint32_t rkey) {
  return static_cast<uint8_t>(rkey ^ rkey >> 8 ^ rkey >> 16 ^ rkey >> 24);
}

FlowTable::Options Checked(FlowTable::Options options) {
  options.capacity = std::max(options.capacity, 1u);
  options.interval = std::clamp<Duration>(options.interval, std::chrono::milliseconds(1),
                                          FlowTable::kMaximumInterval);
  return options;
}

uint32_t SaturateTo32(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

OperationClass ClassOf(const wire::OpcodeInfo& opcode) {
  switch (opcode.operation) {
    case wire::Operation::kWrite:
      return OperationClass::kWrite;
    case wire::Operation::kReadRequest:
      return OperationClass::kReadRequest;
    case wire::Operation::kReadResponse:
      return OperationClass::kReadResponse;
    case wire::Operation::kAtomic:
      return OperationClass::kAtomic;
    case wire::Operation::kAcknowledge:
    case wire::Operation::kAtomicAcknowledge:
      return OperationClass::kAcknowledge;
    case wire::Operation::kCnp:
      return OperationClass::kCnp;
    default:
      return OperationClass::kSend;  // UD too: a UD queue pair has nothing else
  }
}

bool IsDatagram(const DecodedFrame& frame) {
  return wire::InfoOf(frame.bth.opcode).transport == wire::Transport::kUd;
}

// Sixteen bits that differ between the copies that two routers forward.
uint16_t MacSignature(const DecodedFrame& frame) {
  const uint64_t both = frame.source_mac + frame.destination_mac * 3;
  return static_cast<uint16_t>(both ^ both >> 16 ^ both >> 32);
}

// Whether a message that begins at PSN 0 is that of another incarnation of the queue pair. A
// re-send of packet 0 names the memory that packet 0 named, and comes before any time-out is over;
// a PSN 0 that lies ahead is the sequence's own wrap.
bool BeginsAnew(const FlowEntry& entry, const DecodedFrame& frame, int64_t now_ns) {
  if (!entry.requests.valid() || entry.requests.Ahead(0) > 0) return false;
  constexpr int64_t kLongerThanAnyRetry = 60'000'000'000;
  if ((entry.flags & kFlowMessageEnded) != 0 &&
      now_ns - entry.message_end_ns > kLongerThanAnyRetry) {
    return true;
  }
  if (!frame.Has(kPartReth)) return false;
  if ((entry.flags & kFlowZeroKnown) != 0) {
    return MemorySignature(frame.reth.rkey) != entry.zero_memory;
  }
  return entry.last_rkey != 0 && frame.reth.rkey != entry.last_rkey;
}

// A copy that is no first one, and came over another hop: what the sender did not send again.
void CountHopCopy(FlowEntry& entry, const DecodedFrame& frame, PsnTracker& tracker) {
  if (MacSignature(frame) == entry.mac_signature) return;
  tracker.ForgiveResent();
  Count(entry, entry.hop_copies);
}

}  // namespace

FlowTable::FlowTable(Options options)
    : options_(Checked(options)),
      entries_(options_.capacity),
      free_(options_.capacity),
      active_(options_.capacity),
      sighting_budget_(options.sightings),
      interval_end_ns_(std::numeric_limits<int64_t>::min()) {}

FlowTable::Place FlowTable::Prepare(const DecodedFrame& frame, TapId tap) const {
  const wire::OpcodeInfo& opcode = wire::InfoOf(frame.bth.opcode);
  const uint64_t source = FoldAddress(frame.source);
  const uint64_t destination = FoldAddress(frame.destination);
  Place place;
  place.flow_hash =
      HashOf(source, destination, frame.bth.destination_qpn, frame.segment, tap, frame.ttl);
  index_.Prefetch(place.flow_hash);
  place.psn_hash = HashPair(source + destination, frame.bth.psn);
  place.message = !opcode.response &&
                  (opcode.starts || opcode.ends || opcode.operation == wire::Operation::kSend);
  place.response = opcode.response;
  place.round_trip = opcode.operation == wire::Operation::kAcknowledge || frame.bth.ack_request;
  if (place.round_trip) probes_.Prefetch(AtTap(place.psn_hash, tap));
  return place;
}

void FlowTable::Approach(const Place& place) const {
  const uint32_t number = index_.Guess(place.flow_hash);
  if (number == FlowIndex::kAbsent) return;
  constexpr size_t kLine = 64;
  const auto* entry = reinterpret_cast<const char*>(&entries_[number]);
  __builtin_prefetch(entry, 1);
  __builtin_prefetch(entry + kLine, 1);
  if (place.message) __builtin_prefetch(entry + 2 * kLine, 1);
  if (place.response) __builtin_prefetch(entry + 3 * kLine, 1);
}

void FlowTable::Process(const DecodedFrame& frame, const Place& place, TapId tap, Timestamp event,
                        Timestamp arrival, RecordBatch& out) {
  const int64_t now_ns = ToNanoseconds(event);
  if (now_ns >= interval_end_ns_) [[unlikely]] {
    if (interval_end_ns_ != std::numeric_limits<int64_t>::min()) CloseInterval(out);
    OpenInterval(IntervalIndex(event, options_.interval));
  } else if (now_ns < interval_start_ns_ && CountLate(now_ns)) [[unlikely]] {
    CloseInterval(out);
    OpenInterval(IntervalIndex(event, options_.interval));
  }

  FlowEntry& entry = FindOrCreate(frame, place.flow_hash, tap, now_ns, out);
  const wire::OpcodeInfo& opcode = wire::InfoOf(frame.bth.opcode);
  entry.bytes += frame.wire_length;
  entry.last_seen_ns = std::max(entry.last_seen_ns, now_ns);
  ++entry.class_packets[static_cast<size_t>(ClassOf(opcode))];
  if (frame.Ecn() == wire::kEcnCe) ++entry.ce_marked;
  if (frame.Dscp() != entry.dscp) {
    entry.dscp = frame.Dscp();
    entry.flags |= kFlowDscpChanged;
  }
  if (frame.udp_source_port != entry.udp_source_port) {
    entry.udp_source_port = frame.udp_source_port;
    IncrementSaturating(entry.udp_source_port_changes);
  }

  ClearToSend grant;
  const bool granted = frame.Has(kPartReth) && ReadClearToSend(frame, grant);
  const bool first_copy = AccountPsn(entry, frame, opcode, now_ns);
  if (first_copy && opcode.operation != wire::Operation::kCnp) {
    AccountMessage(entry, frame, opcode, now_ns);
    if (granted) {
      Count(entry, entry.control_messages);
      entry.control_bytes += frame.payload_length;
    }
  }
  if (frame.Has(kPartAeth)) AccountAcknowledge(entry, frame);

  MeasureRoundTrip(entry, frame, opcode, place.psn_hash, now_ns);
  Sight(entry, frame, granted ? &grant : nullptr, place.psn_hash, event, arrival, out);
  if ((entry.flags & kFlowCounterFull) != 0) [[unlikely]] {
    Emit(entry, out);
    Activate(entry, now_ns);  // it keeps its place on the active list
  }
}

// A wrong time in the future must not make everything after it late for ever; two taps whose clocks
// differ must not open and close intervals packet by packet.
bool FlowTable::CountLate(int64_t now_ns) {
  constexpr int64_t kFar = 10'000'000'000;
  constexpr uint32_t kEnough = 64;
  ++statistics_.late_packets;
  if (interval_start_ns_ - now_ns < kFar) {
    far_late_ = 0;
    return false;
  }
  if (++far_late_ < kEnough) return false;
  far_late_ = 0;
  return true;
}

inline FlowEntry& FlowTable::FindOrCreate(const DecodedFrame& frame, uint64_t hash, TapId tap,
                                          int64_t now_ns, RecordBatch& out) {
  uint32_t number = index_.Find(hash, [&](uint32_t candidate) {
    const FlowEntry& entry = entries_[candidate];
    return entry.key.destination_qpn == frame.bth.destination_qpn &&
           entry.key.source == frame.source && entry.key.destination == frame.destination &&
           entry.key.segment == frame.segment && entry.tap == tap && entry.ttl == frame.ttl;
  });
  if (number == FlowIndex::kAbsent) [[unlikely]] {
    number = TakeEntry(out);
    FlowEntry& entry = entries_[number];
    // An evicted flow leaves its place on the active list to the new one.
    const bool listed = (entry.flags & kFlowActive) != 0;
    entry = FlowEntry{};
    entry.key = KeyOf(frame);
    entry.tap = tap;
    entry.ttl = frame.ttl;
    entry.dscp = frame.Dscp();
    entry.udp_source_port = frame.udp_source_port;
    entry.mac_signature = MacSignature(frame);
    entry.flags = static_cast<uint16_t>(kFlowInUse | (IsDatagram(frame) ? kFlowDatagrams : 0));
    entry.peer = FlowIndex::kAbsent;
    RequestGaps(entry).Forget();
    ResponseGaps(entry).Forget();
    entry.credits = 31;
    index_.Insert(hash, number, HashesIn(entries_));
    ++size_;
    ++statistics_.flows_created;
    if (listed) Activate(entry, now_ns);
  }
  FlowEntry& entry = entries_[number];
  if ((entry.flags & kFlowActive) == 0) {
    Activate(entry, now_ns);
    active_[active_count_++] = number;
  }
  return entry;
}

void FlowTable::Activate(FlowEntry& entry, int64_t now_ns) const {
  entry.flags |= kFlowActive;
  entry.first_seen_offset_ns =
      SaturateTo32(static_cast<uint64_t>(std::max<int64_t>(0, now_ns - interval_start_ns_)));
}

// Returns true for a packet that this flow has not shown before.
inline bool FlowTable::AccountPsn(FlowEntry& entry, const DecodedFrame& frame,
                                  const wire::OpcodeInfo& opcode, int64_t now_ns) {
  const uint32_t psn = frame.bth.psn;
  const bool from_responder = opcode.operation == wire::Operation::kReadResponse;
  PsnTracker& tracker = from_responder ? entry.responses : entry.requests;
  if (!opcode.sequenced) {
    if (opcode.transport == wire::Transport::kUd) entry.flags |= kFlowDatagrams;
    return true;
  }
  // Nearly every packet is the next one of a sequence under way.
  const bool under_way =
      from_responder || (entry.flags & (kFlowRequestSeen | kFlowReadPending)) == kFlowRequestSeen;
  if (under_way && psn != 0 && tracker.Advance(psn)) [[likely]] {
    entry.mac_signature = MacSignature(frame);
    return true;
  }
  const PsnVerdict verdict = from_responder ? ObserveResponse(entry, psn, opcode.starts)
                                            : ObserveRequest(entry, frame, opcode, now_ns);
  if (verdict == PsnVerdict::kResent) {
    CountHopCopy(entry, frame, tracker);
    return false;
  }
  if (verdict != PsnVerdict::kReordered) {
    entry.mac_signature = MacSignature(frame);
  } else if (tracker.reordered() == UINT16_MAX) {
    entry.flags |= kFlowCounterFull;
  }
  return true;
}

PsnVerdict FlowTable::ObserveResponse(FlowEntry& entry, uint32_t psn, bool starts) {
  PsnTracker& tracker = entry.responses;
  if (!starts) return tracker.Observe(psn, 0, ResponseGaps(entry));
  // Responses of different READs are separated by whatever else the requester sent: only a
  // response's later packets must follow each other.
  const bool far = tracker.valid() && std::abs(tracker.Ahead(psn)) > PsnTracker::kMaximumJump;
  if (!far) return tracker.Observe(psn, UINT32_MAX, ResponseGaps(entry));
  ResponseGaps(entry).Forget();
  tracker.Begin(psn);
  return PsnVerdict::kInOrder;
}

PsnVerdict FlowTable::ObserveRequest(FlowEntry& entry, const DecodedFrame& frame,
                                     const wire::OpcodeInfo& opcode, int64_t now_ns) {
  const uint32_t psn = frame.bth.psn;
  if ((entry.flags & kFlowRequestSeen) == 0) {
    entry.flags |= kFlowRequestSeen;
    entry.first_request_psn = psn & k24BitMask;
  }
  PsnTracker& tracker = entry.requests;
  const bool zero = psn == 0 && opcode.starts;
  PsnVerdict verdict;
  if (zero && BeginsAnew(entry, frame, now_ns)) [[unlikely]] {
    verdict = tracker.Restart(psn, RequestGaps(entry));
  } else {
    uint32_t reserved = 0;
    if ((entry.flags & kFlowReadPending) != 0 && tracker.valid()) {
      reserved = ReservedByRead(entry.pending_length, tracker.Ahead(psn));
    }
    verdict = tracker.Observe(psn, reserved, RequestGaps(entry));
  }
  if (verdict == PsnVerdict::kFirst || verdict == PsnVerdict::kRestart) {
    if (zero) entry.flags |= kFlowSequenceBegan;
    entry.flags &= static_cast<uint16_t>(~(kFlowMessageEnded | kFlowZeroKnown));
  }
  if (zero && frame.Has(kPartReth) && verdict != PsnVerdict::kResent) {
    entry.zero_memory = MemorySignature(frame.reth.rkey);
    entry.flags |= kFlowZeroKnown;
  }
  if (verdict != PsnVerdict::kResent && verdict != PsnVerdict::kReordered) {
    entry.flags &= static_cast<uint16_t>(~kFlowReadPending);
  }
  return verdict;
}

inline void FlowTable::AccountMessage(FlowEntry& entry, const DecodedFrame& frame,
                                      const wire::OpcodeInfo& opcode, int64_t now_ns) {
  const bool request = !opcode.response;
  if (request || opcode.operation == wire::Operation::kReadResponse) {
    entry.payload_bytes += frame.payload_length;
  }
  if (!request) return;

  if (opcode.starts) {
    ++entry.messages;
    if ((entry.flags & kFlowMessageEnded) != 0 && now_ns >= entry.message_end_ns) {
      const auto gap = static_cast<uint64_t>(now_ns - entry.message_end_ns);
      ++entry.gap_count;
      entry.gap_sum_ns += gap;
      entry.gap_maximum =
          std::max(entry.gap_maximum, SaturateTo32((gap + kGapUnitNs - 1) / kGapUnitNs));
    }
  }
  // A message's size stands in its RETH; a SEND's is known when it ends.
  const bool sized_by_reth = frame.Has(kPartReth);
  if (sized_by_reth) {
    Count(entry, entry.message_sizes[MessageSizeBin(frame.reth.dma_length)]);
    entry.last_rkey = frame.reth.rkey;
  } else if (opcode.operation == wire::Operation::kSend) {
    entry.pending_length = (opcode.starts ? 0 : entry.pending_length) + frame.payload_length;
    if (opcode.ends) Count(entry, entry.message_sizes[MessageSizeBin(entry.pending_length)]);
  } else if (opcode.operation == wire::Operation::kAtomic) {
    constexpr uint32_t kAtomicOperand = 8;
    Count(entry, entry.message_sizes[MessageSizeBin(kAtomicOperand)]);
  }
  if (opcode.operation == wire::Operation::kReadRequest && sized_by_reth) {
    entry.pending_length = frame.reth.dma_length;
    entry.flags |= kFlowReadPending;
  }
  if (opcode.ends) {
    entry.message_end_ns = now_ns;
    entry.flags |= kFlowMessageEnded;
  }
}

inline void FlowTable::AccountAcknowledge(FlowEntry& entry, const DecodedFrame& frame) {
  switch (wire::KindOf(frame.aeth)) {
    case wire::AethKind::kAck:
      entry.credits = wire::ValueOf(frame.aeth);
      break;
    case wire::AethKind::kRnrNak:
      Count(entry, entry.naks[static_cast<size_t>(NakKind::kReceiverNotReady)]);
      break;
    case wire::AethKind::kNak:
      Count(entry, entry.naks[static_cast<size_t>(NakKindOf(wire::ValueOf(frame.aeth)))]);
      break;
    case wire::AethKind::kReserved:
      Count(entry, entry.naks[static_cast<size_t>(NakKind::kOther)]);
      break;
  }
}

inline void FlowTable::MeasureRoundTrip(FlowEntry& entry, const DecodedFrame& frame,
                                        const wire::OpcodeInfo& opcode, uint64_t hash,
                                        int64_t now_ns) {
  if (opcode.transport != wire::Transport::kRc && opcode.transport != wire::Transport::kXrc) return;
  const uint64_t at_tap = AtTap(hash, entry.tap);
  const uint32_t number = NumberOf(entry);
  if (!opcode.response) {
    if (frame.bth.ack_request) probes_.Remember(at_tap, now_ns, number);
    return;
  }
  if (opcode.operation != wire::Operation::kAcknowledge) return;
  RoundTripProbes::Probe* probe = probes_.Find(at_tap);
  if (probe == nullptr) return;
  const FlowEntry& request = entries_[probe->flow];
  if (request.key.source != entry.key.destination || request.key.destination != entry.key.source ||
      request.key.segment != entry.key.segment || now_ns < probe->sent_ns) {
    return;
  }
  // Several queue pairs of a host pair may use the same PSN at the same time: only the flow that
  // keeps answering is believed.
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

inline void FlowTable::Sight(const FlowEntry& entry, const DecodedFrame& frame,
                             const ClearToSend* grant, uint64_t hash, Timestamp event,
                             Timestamp arrival, RecordBatch& out) {
  const uint8_t exponent = sighting_budget_.exponent();
  if (sighting_budget_.CountEligible()) [[unlikely]]
    sighting_budget_.Raise();
  bool chosen = IsChosen(hash, exponent);
  if (!chosen && frame.Has(kPartReth)) {
    chosen = IsChosen(AddressHash(entry.key, frame.reth.virtual_address), exponent) ||
             (grant != nullptr && IsChosen(AddressHash(entry.key, grant->address), exponent));
  }
  if (!chosen) {
    const bool always = frame.bth.opcode == wire::kOpcodeCnp ||
                        (frame.Has(kPartAeth) && wire::KindOf(frame.aeth) != wire::AethKind::kAck);
    if (!always || !sighting_budget_.AdmitAlways()) return;
  }
  out.sightings.push_back(
      MakeSighting(entry, NumberOf(entry), frame, grant, exponent, event, arrival));
}

void FlowTable::OpenInterval(int64_t index) {
  interval_start_ns_ = index * options_.interval.count();
  interval_end_ns_ = interval_start_ns_ + options_.interval.count();
}

void FlowTable::CloseInterval(RecordBatch& out) {
  for (uint32_t i = 0; i < active_count_; ++i) {
    FlowEntry& entry = entries_[active_[i]];
    // Nothing came since its counters were full.
    if (entry.bytes == 0) {
      ClearInterval(entry);
    } else {
      Emit(entry, out);
    }
  }
  active_count_ = 0;
  statistics_.sightings_capped += sighting_budget_.EndInterval();
  ExpireIdle(interval_end_ns_);
}

void FlowTable::Emit(FlowEntry& entry, RecordBatch& out) const {
  out.flows.push_back(MakeFlowRecord(entry, NumberOf(entry), FromNanoseconds(interval_start_ns_),
                                     options_.interval));
  ClearInterval(entry);
}

void FlowTable::Advance(Timestamp now, RecordBatch& out) {
  if (interval_end_ns_ == std::numeric_limits<int64_t>::min()) return;
  if (ToNanoseconds(now) < interval_end_ns_) return;
  CloseInterval(out);
  OpenInterval(IntervalIndex(now, options_.interval));
}

void FlowTable::Flush(RecordBatch& out) {
  if (interval_end_ns_ != std::numeric_limits<int64_t>::min()) CloseInterval(out);
}

uint32_t FlowTable::TakeEntry(RecordBatch& out) {
  if (free_count_ > 0) return free_[--free_count_];
  if (used_ < options_.capacity) return used_++;
  uint32_t victim = eviction_hand_;
  for (uint32_t i = 0; i < std::min(kEvictionCandidates, options_.capacity); ++i) {
    const uint32_t candidate = (eviction_hand_ + i) % options_.capacity;
    if (entries_[candidate].last_seen_ns < entries_[victim].last_seen_ns) victim = candidate;
  }
  eviction_hand_ = (eviction_hand_ + kEvictionCandidates) % options_.capacity;
  FlowEntry& entry = entries_[victim];
  if ((entry.flags & kFlowActive) != 0 && entry.bytes != 0) {
    out.flows.push_back(
        MakeFlowRecord(entry, victim, FromNanoseconds(interval_start_ns_), options_.interval));
  }
  index_.Erase(HashOf(entry), victim, HashesIn(entries_));
  --size_;
  ++statistics_.flows_evicted;
  return victim;
}

void FlowTable::Release(uint32_t number) {
  index_.Erase(HashOf(entries_[number]), number, HashesIn(entries_));
  entries_[number].flags = 0;
  free_[free_count_++] = number;
  --size_;
}

void FlowTable::ExpireIdle(int64_t now_ns) {
  const uint32_t steps = (used_ + kExpirySweepShare - 1) / kExpirySweepShare;
  for (uint32_t i = 0; i < steps; ++i) {
    if (expiry_hand_ >= used_) expiry_hand_ = 0;
    const FlowEntry& entry = entries_[expiry_hand_];
    if ((entry.flags & kFlowInUse) != 0 && (entry.flags & kFlowActive) == 0 &&
        now_ns - entry.last_seen_ns > options_.idle_timeout.count()) {
      Release(expiry_hand_);
      ++statistics_.flows_expired;
    }
    ++expiry_hand_;
  }
}

}  // namespace rocescope
