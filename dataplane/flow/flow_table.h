// SPDX-License-Identifier: BSD-3-Clause
// Flow state at the taps: decoded packets in, records out.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "dataplane/decode/frame.h"
#include "dataplane/flow/clear_to_send.h"
#include "dataplane/flow/flow_entry.h"
#include "dataplane/flow/flow_index.h"
#include "dataplane/flow/gap_memory.h"
#include "dataplane/flow/round_trip.h"
#include "dataplane/flow/sighting.h"
#include "dataplane/flow/zeroed_array.h"
#include "dataplane/record/record.h"

namespace rocescope {

// One lcore's table: no locks. When it is full, a new flow takes the place of the one that has been
// quiet longest among a few that a clock hand points at; that one's record is emitted first.
//
// Time is the packets' own. Records of an interval are emitted when the first packet of a later one
// arrives, or by Advance; a packet whose time lies before the open interval is counted as late and
// belongs to the open one, until so many lie so far before it that the clock must have been wrong.
class FlowTable {
 public:
  struct Options {
    uint32_t capacity = 1u << 20;  // flows at taps; memory is taken as they come
    Duration interval = std::chrono::milliseconds(100);
    Duration idle_timeout = std::chrono::seconds(60);
    SightingBudget::Options sightings;
  };
  // Timestamps inside an interval are kept as 32-bit nanoseconds.
  static constexpr Duration kMaximumInterval = std::chrono::seconds(4);

  struct Statistics {
    uint64_t flows_created = 0;
    uint64_t flows_evicted = 0;
    uint64_t flows_expired = 0;
    uint64_t late_packets = 0;
    uint64_t sightings_capped = 0;
  };

  // A capacity of 0 is taken for 1; an interval outside of 1 ms to kMaximumInterval is moved into
  // it.
  explicit FlowTable(Options options);

  // Where a packet's state is looked for.
  struct Place {
    uint64_t flow_hash;
    uint64_t psn_hash;  // of the unordered address pair and the PSN
    // What it will need beyond the entry's first two lines.
    bool message;     // the line of messages
    bool response;    // that of responses
    bool round_trip;  // the request that an ACK answers
  };

  // A packet's way, each step worth taking for a few packets before the next one: Prepare names the
  // places of its state and starts loading the index, Approach starts loading the flow's entry.
  Place Prepare(const DecodedFrame& frame, TapId tap) const;
  void Approach(const Place& place) const;

  // Accounts one RoCE packet, `place` being what Prepare said; appends to `out` what is due.
  void Process(const DecodedFrame& frame, const Place& place, TapId tap, Timestamp event,
               Timestamp arrival, RecordBatch& out);

  // Closes every interval that ends at or before `now`.
  void Advance(Timestamp now, RecordBatch& out);

  // Emits what the open interval has, whatever the time: the end of a replay.
  void Flush(RecordBatch& out);

  // Whether one more record of the kinds that are said whatever k is (NAK, CNP, connection manager
  // datagrams) fits into the interval's cap. Counts one that does not.
  bool AdmitAlways() { return sighting_budget_.AdmitAlways(); }

  uint32_t size() const { return size_; }
  const Statistics& statistics() const { return statistics_; }

 private:
  void Release(uint32_t number);
  uint32_t NumberOf(const FlowEntry& entry) const {
    return static_cast<uint32_t>(&entry - &entries_[0]);
  }
  GapMemory::Of RequestGaps(const FlowEntry& entry) { return {gaps_, NumberOf(entry) * 2}; }
  GapMemory::Of ResponseGaps(const FlowEntry& entry) { return {gaps_, NumberOf(entry) * 2 + 1}; }
  // True if the packet's time is so wrong for the open interval that it should open its own.
  bool CountLate(int64_t now_ns);
  void Emit(FlowEntry& entry, RecordBatch& out) const;
  [[gnu::always_inline]] inline FlowEntry& FindOrCreate(const DecodedFrame& frame, uint64_t hash,
                                                        TapId tap, int64_t now_ns,
                                                        RecordBatch& out);
  void Activate(FlowEntry& entry, int64_t now_ns) const;
  uint32_t TakeEntry(RecordBatch& out);
  void OpenInterval(int64_t index);
  void CloseInterval(RecordBatch& out);
  void ExpireIdle(int64_t now_ns);

  [[gnu::always_inline]] inline bool AccountPsn(FlowEntry& entry, const DecodedFrame& frame,
                                                const wire::OpcodeInfo& opcode, int64_t now_ns);
  PsnVerdict ObserveResponse(FlowEntry& entry, uint32_t psn, bool starts);
  PsnVerdict ObserveRequest(FlowEntry& entry, const DecodedFrame& frame,
                            const wire::OpcodeInfo& opcode, int64_t now_ns);
  [[gnu::always_inline]] inline void AccountMessage(FlowEntry& entry, const DecodedFrame& frame,
                                                    const wire::OpcodeInfo& opcode, int64_t now_ns);
  [[gnu::always_inline]] inline void AccountAcknowledge(FlowEntry& entry,
                                                        const DecodedFrame& frame);
  [[gnu::always_inline]] inline void MeasureRoundTrip(FlowEntry& entry, const DecodedFrame& frame,
                                                      const wire::OpcodeInfo& opcode, uint64_t hash,
                                                      int64_t now_ns);
  [[gnu::always_inline]] inline void Sight(const FlowEntry& entry, const DecodedFrame& frame,
                                           const ClearToSend* grant, uint64_t hash, Timestamp event,
                                           Timestamp arrival, RecordBatch& out);

  const Options options_;
  FlowIndex index_;
  ZeroedArray<FlowEntry> entries_;
  ZeroedArray<uint32_t> free_;    // numbers given back, a stack
  ZeroedArray<uint32_t> active_;  // entries with packets in the open interval, in order of arrival
  RoundTripProbes probes_;
  GapMemory gaps_;
  SightingBudget sighting_budget_;
  uint32_t size_ = 0;
  uint32_t used_ = 0;  // entries ever taken: numbers below it
  uint32_t free_count_ = 0;
  uint32_t active_count_ = 0;
  uint32_t eviction_hand_ = 0;
  uint32_t expiry_hand_ = 0;
  int64_t interval_start_ns_ = 0;
  uint32_t far_late_ = 0;    // packets far too late since that last opened an interval
  int64_t interval_end_ns_;  // no packet is before it until the first one opens an interval
  Statistics statistics_;
};

}  // namespace rocescope
