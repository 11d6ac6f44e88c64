// SPDX-License-Identifier: BSD-3-Clause
// Per-tap state of flows: decoded packets in, records out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/hash.h"
#include "base/time.h"
#include "dataplane/decode/frame.h"
#include "dataplane/flow/clear_to_send.h"
#include "dataplane/flow/flow_entry.h"
#include "dataplane/flow/flow_index.h"
#include "dataplane/flow/gap_store.h"
#include "dataplane/flow/observation_budget.h"
#include "dataplane/flow/round_trip.h"
#include "dataplane/flow/zeroed_array.h"
#include "dataplane/record/capacity.h"
#include "dataplane/record/record.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {

// The flow table of one lcore; it has no locks. When the table is full, a new flow replaces the
// flow that was idle longest among a few that a clock hand points at, and the record of the
// replaced flow is emitted first.
//
// Time is packet time. The records of an interval are emitted when the first packet of a later
// interval arrives, or by Advance. A steady table emits a few of them with each packet, so that a
// port is not left unattended while thousands of records are emitted. A packet with a time before
// the open interval counts as late and is accounted in the open interval. If many packets are far
// before the open interval, the clock must have been wrong, and a packet opens its own interval.
class FlowTable {
 public:
  struct Options {
    uint32_t capacity = kFlowCapacity;  // entries: one for each flow, tap and TTL
    Duration interval = std::chrono::milliseconds(100);
    Duration idle_timeout = std::chrono::seconds(60);
    // Avoids latency spikes: all memory, 300 bytes per flow, is allocated at the start, and the
    // records of an interval may be emitted until the next interval ends.
    bool steady = false;
    ObservationBudget::Options sightings;
  };
  // Timestamps inside an interval are stored as 32-bit nanoseconds.
  static constexpr Duration kMaximumInterval = std::chrono::seconds(4);

  struct Statistics {
    uint64_t flows_created = 0;
    uint64_t flows_evicted = 0;
    uint64_t flows_expired = 0;
    uint64_t late_packets = 0;
    uint64_t observations_capped = 0;

    Statistics& operator+=(const Statistics& other) {
      flows_created += other.flows_created;
      flows_evicted += other.flows_evicted;
      flows_expired += other.flows_expired;
      late_packets += other.late_packets;
      observations_capped += other.observations_capped;
      return *this;
    }
  };

  // A capacity of 0 is treated as 1; the interval is clamped to 1 ms to kMaximumInterval.
  explicit FlowTable(const Options& options);

  // Locations of a packet's state in the tables.
  struct Place {
    uint64_t identity;  // IdentityOf() of the packet
    uint64_t flow_hash;
    uint64_t psn_hash;  // hash of the unordered address pair and the PSN
    uint64_t pair;      // sum of both addresses' folds (base/hash.h)
    uint32_t guess;     // number of the entry that most likely belongs to the flow
  };

  // The stages before Process. To hide memory latency, run each stage for several packets before
  // the next stage. Prepare computes the locations and prefetches the index; Approach prefetches
  // the flow's entry.
  void Prepare(const RocePacket& packet, TapId tap, Place& place) const;
  void Approach(const RocePacket& packet, Place& place) const;

  // Accounts one RoCE packet and appends the records that become due to `out`. `place` is the
  // result of Prepare and, optionally, Approach.
  [[gnu::always_inline]] inline void Process(const RocePacket& packet, const Place& place,
                                             Timestamp event, Timestamp arrival, RecordBatch& out);

  // Closes every interval that ends at or before `now`, and continues to emit records of a closed
  // interval.
  void Advance(Timestamp now, RecordBatch& out);

  // Emits the records of all intervals regardless of the time, at the end of a replay.
  void Flush(RecordBatch& out);

  // Returns true if the interval's rate limit admits one more record of the kinds that are reported
  // independently of k (NAK, CNP, CM datagrams). Otherwise counts the record as dropped.
  bool AdmitAlways() { return observation_budget_.AdmitAlways(); }

  uint32_t size() const { return size_; }
  const Statistics& statistics() const { return statistics_; }

 private:
  // Small enough to keep up with a port, large enough to finish long before the next interval ends.
  static constexpr uint32_t kClosedPerPacket = 2;
  // Opcode flags of packets that are not in the middle of a message.
  static constexpr uint8_t kEventful =
      wire::kOpcodeStarts | wire::kOpcodeEnds | wire::kOpcodeResponse;

  static uint64_t HashFlow(uint64_t source, uint64_t destination, Segment segment,
                           uint64_t identity) {
    return MultiplyAndFold(source ^ (identity & ~kDscpInIdentity) * 0x9e3779b97f4a7c15ull,
                           destination + segment * 0xd6e8feb86659fd93ull);
  }
  static uint64_t HashOf(const FlowEntry& entry) {
    return HashFlow(FoldAddress(entry.source), FoldAddress(entry.destination), entry.segment,
                    entry.identity);
  }

  // Flows with packets in one interval, in order of arrival.
  struct Active {
    ZeroedArray<uint32_t> flows;
    uint32_t count = 0;
    uint16_t flag;  // flag of the entries in the list
  };

  void Release(uint32_t number);
  uint32_t NumberOf(const FlowEntry& entry) const {
    return static_cast<uint32_t>(&entry - &entries_[0]);
  }
  GapStore::Of RequestGaps(const FlowEntry& entry) { return {gaps_, NumberOf(entry) * 2}; }
  GapStore::Of ResponseGaps(const FlowEntry& entry) { return {gaps_, NumberOf(entry) * 2 + 1}; }
  // Returns true if the packet's time is so far from the open interval that it should open its own
  // interval.
  bool CountLate(int64_t now_ns);
  void Tell(const FlowEntry& entry, int64_t start_ns, RecordBatch& out) const;
  // Emits the record of the interval that began at `start_ns`, unless no packets arrived since the
  // last record, and clears the counters.
  void Emit(FlowEntry& entry, int64_t start_ns, RecordBatch& out) const;
  // Separates taps, because a round trip is measured at one tap.
  static uint64_t AtTap(uint64_t psn_hash, uint64_t identity) {
    return psn_hash ^ (identity >> 32 & 0xffff) * 0x9e3779b97f4a7c15ull;
  }
  static bool IsOf(const FlowEntry& entry, const RocePacket& packet, uint64_t identity,
                   uint64_t ignored) {
    return ((entry.source.low ^ packet.source.low) | (entry.source.high ^ packet.source.high) |
            (entry.destination.low ^ packet.destination.low) |
            (entry.destination.high ^ packet.destination.high) |
            ((entry.identity ^ identity) & ~ignored) | (entry.segment ^ packet.segment)) == 0;
  }
  void SwitchInterval(int64_t now_ns, RecordBatch& out);
  FlowEntry& FindOrCreate(const RocePacket& packet, const Place& place, int64_t now_ns,
                          RecordBatch& out);
  FlowEntry& Create(const RocePacket& packet, const Place& place, int64_t now_ns, RecordBatch& out);
  // Handles packets other than the next packet of a WRITE in progress.
  void ProcessEvent(FlowEntry& entry, const RocePacket& packet, const Place& place, Timestamp event,
                    Timestamp arrival, RecordBatch& out);
  void Activate(FlowEntry& entry, int64_t now_ns) const;
  uint32_t TakeEntry(RecordBatch& out);
  void OpenInterval(int64_t index);
  // Closes the open interval; its records are emitted from now on.
  void CloseInterval(RecordBatch& out);
  void CloseSome(uint32_t flows, RecordBatch& out);
  void CloseRest(RecordBatch& out) {
    if (closes_) CloseSome(UINT32_MAX, out);
  }
  void ExpireSome(uint32_t entries);  // checks the next entries and expires the idle ones

  [[gnu::always_inline]] inline bool AccountPsn(FlowEntry& entry, const RocePacket& packet,
                                                const wire::OpcodeTraits& opcode, int64_t now_ns);
  PsnResult ObserveResponse(FlowEntry& entry, uint32_t psn, bool starts);
  PsnResult ObserveRequest(FlowEntry& entry, const RocePacket& packet,
                           const wire::OpcodeTraits& opcode, int64_t now_ns);
  [[gnu::always_inline]] inline void AccountMessage(FlowEntry& entry, const RocePacket& packet,
                                                    const wire::OpcodeTraits& opcode,
                                                    int64_t now_ns);
  [[gnu::always_inline]] inline void AccountAcknowledge(FlowEntry& entry, const RocePacket& packet);
  [[gnu::always_inline]] inline void MeasureRoundTrip(FlowEntry& entry, const RocePacket& packet,
                                                      const wire::OpcodeTraits& opcode,
                                                      uint64_t at_tap, int64_t now_ns);
  bool IsSightedOtherwise(const RocePacket& packet, const ClearToSend* grant, uint64_t pair);
  void Sight(const FlowEntry& entry, const RocePacket& packet, const ClearToSend* grant,
             Timestamp event, Timestamp arrival, RecordBatch& out) const;

  const Options options_;
  FlowIndex index_;
  ZeroedArray<FlowEntry> entries_;
  ZeroedArray<uint32_t> free_;  // stack of released numbers
  Active open_;                 // flows of the open interval
  // Flows of the last interval; records before next_closed_ were emitted.
  Active closing_;
  RoundTripProbes probes_;
  GapStore gaps_;
  ObservationBudget observation_budget_;
  uint32_t size_ = 0;
  uint32_t used_ = 0;  // number of entries ever used; all numbers in use are below it
  uint32_t free_count_ = 0;
  uint32_t next_closed_ = 0;
  uint32_t unswept_ = 0;  // entries that must still be checked for being idle
  bool closes_ = false;   // the last interval has records to emit or entries to check
  uint32_t eviction_hand_ = 0;
  uint32_t expiry_hand_ = 0;
  int64_t closing_start_ns_ = 0;
  int64_t interval_start_ns_ = 0;
  // Number of successive late packets that are far too late; enough of them open an interval.
  uint32_t far_late_ = 0;
  int64_t interval_end_ns_;  // the minimum value until the first packet opens an interval
  Statistics statistics_;
};

// The three stages are defined here so that they are inlined into the caller's loop.

inline void FlowTable::Prepare(const RocePacket& packet, TapId tap, Place& place) const {
  const uint64_t source = FoldAddress(packet.source);
  const uint64_t destination = FoldAddress(packet.destination);
  place.identity = IdentityOf(packet.destination_qpn, packet.ttl, tap, packet.Dscp());
  place.flow_hash = HashFlow(source, destination, packet.segment, place.identity);
  index_.Prefetch(place.flow_hash);
  place.pair = source + destination;
  place.psn_hash = HashPair(place.pair, packet.psn);
  place.guess = 0;
}

inline void FlowTable::Approach(const RocePacket& packet, Place& place) const {
  const uint32_t number = index_.Guess(place.flow_hash);
  if (number == FlowIndex::kAbsent) [[unlikely]]
    return;
  place.guess = number;
  constexpr size_t kLine = 64;
  const auto* entry = reinterpret_cast<const char*>(&entries_[number]);
  __builtin_prefetch(entry, 1);
  __builtin_prefetch(entry + kLine, 1);
  // Prefetches the other cache lines that an event uses. For other packets this repeats the first
  // line, because a mispredicted branch would cost more than the extra prefetch.
  const wire::OpcodeTraits& opcode = packet.Traits();
  const bool event = ((opcode.flags & kEventful) != 0) | packet.ack_request;
  const size_t line = opcode.Is(wire::kOpcodeResponse) ? 3 : 2;
  __builtin_prefetch(entry + (event ? line * kLine : 0), 1);
  const void* probe = probes_.PlaceOf(AtTap(place.psn_hash, place.identity));
  __builtin_prefetch(event ? probe : entry, 1);
}

inline void FlowTable::Process(const RocePacket& packet, const Place& place, Timestamp event,
                               Timestamp arrival, RecordBatch& out) {
  const int64_t now_ns = ToNanoseconds(event);
  if ((now_ns >= interval_end_ns_) | (now_ns < interval_start_ns_)) [[unlikely]]
    SwitchInterval(now_ns, out);
  FlowEntry* found = &entries_[place.guess];
  if (!IsOf(*found, packet, place.identity, 0)) [[unlikely]]
    found = &FindOrCreate(packet, place, now_ns, out);
  FlowEntry& entry = *found;

  // The next packet of a WRITE in progress is the case for more than half of all packets. It
  // changes only counters.
  const bool middle = (packet.opcode == wire::kOpcodeWriteMiddle) & !packet.ack_request &
                      ((entry.flags & (open_.flag | kFlowRequestSeen | kFlowReadPending)) ==
                       (open_.flag | kFlowRequestSeen)) &
                      (packet.udp_source_port == entry.udp_source_port);
  if (!middle || !entry.requests.Advance(packet.psn)) {
    ProcessEvent(entry, packet, place, event, arrival, out);
    return;
  }
  entry.bytes += packet.wire_length;
  entry.payload_bytes += packet.payload_length;
  entry.last_seen_ns = std::max(entry.last_seen_ns, now_ns);
  ++entry.class_packets[static_cast<size_t>(OperationClass::kWrite)];
  entry.mac_signature = packet.mac_signature;
  if (packet.Ecn() == wire::kEcnCe) [[unlikely]]
    ++entry.ce_marked;
  if (observation_budget_.Chooses(place.psn_hash)) [[unlikely]]
    Sight(entry, packet, nullptr, event, arrival, out);
  observation_budget_.CountEligible();
}

}  // namespace rocescope
