// SPDX-License-Identifier: BSD-3-Clause
// Flow records summed up: what each direction of each queue pair carried, every packet counted once
// however many taps and hops showed it, and apart for each owner of the queue pair number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analytics/chunks/chunks.h"
#include "analytics/traffic/copies.h"
#include "analytics/traffic/flow_counts.h"
#include "analytics/traffic/packed_counts.h"
#include "dataplane/record/capacity.h"
#include "dataplane/record/flow_key_hash.h"
#include "dataplane/record/flow_slot_index.h"
#include "dataplane/record/hint_cache.h"
#include "dataplane/record/record.h"

namespace rocescope {

// A tap that showed the flow, and with which TTL.
struct FlowStream {
  TapId tap = 0;
  uint8_t ttl = 0;

  friend bool operator==(const FlowStream&, const FlowStream&) = default;
};

// What a flow carried until its queue pair number changed hands.
struct FlowIncarnation {
  std::optional<Timestamp> until;  // unset: the present one
  FlowCounts counts;

  friend bool operator==(const FlowIncarnation&, const FlowIncarnation&) = default;
};

// One direction of a queue pair.
struct FlowSummary {
  FlowKey flow;
  FlowCounts total;                           // of all incarnations
  std::vector<FlowIncarnation> incarnations;  // in order of time; none if `total` is the only one
  std::vector<FlowStream> streams;            // by tap and falling TTL
  TapAgreement agreement = TapAgreement::kAgree;  // over the present incarnation

  // What was carried during the connection that has this valid_until; nullptr if nothing was.
  const FlowCounts* Of(std::optional<Timestamp> valid_until) const;

  uint64_t ClassPackets(OperationClass c) const { return total.ClassPackets(c); }
  uint64_t DataBytes() const { return total.DataBytes(); }

  friend bool operator==(const FlowSummary&, const FlowSummary&) = default;
};

using FlowSummaries = Chunks<FlowSummary>;  // by key

// What flows with sequence numbers say of two taps: whether they show parts of one whole, as two
// files of one port do, or copies.
class TapVotes {
 public:
  // `streams` are in the order of their taps; a vote is above 0 for parts, below 0 for copies.
  void Add(const std::vector<FlowStream>& streams, int vote);
  bool ForParts(const std::vector<FlowStream>& streams) const;
  // Whether any two taps were judged otherwise when this was asked before.
  bool TakeChange();

 private:
  struct Votes {
    int64_t sum = 0;
    bool was_for_parts = false;
  };
  std::map<std::pair<TapId, TapId>, Votes> votes_;
};

struct TrafficLimits {
  size_t streams = kFlowCapacity;
  size_t closed_incarnations = 16384;  // kept apart; older ones count as one
};

struct TrafficStatistics {
  uint64_t flows_evicted = 0;
  FlowCounts evicted;         // what these had carried
  uint64_t late_records = 0;  // came after a later interval's: only their own tap counts them
  uint64_t incarnations_merged = 0;  // no longer kept apart
};

// When the streams are full, a new one takes the place of the flow that has been quiet longest
// among a few that a clock hand points at. What that one carried stays in the statistics.
class TrafficTotals {
 public:
  explicit TrafficTotals(const TrafficLimits& limits = {}) : limits_(limits) {}

  void Add(const FlowRecord& record);
  // Starts loading what the record will be added to: worth it a few records ahead.
  void Approach(const FlowRecord& record) const;

  // Packets of the flow from `time` on are another incarnation's: a record that ends before counts
  // to the old one, any other to the new one. The flow's records may still be to come.
  void Cut(const FlowKey& flow, Timestamp time);

  // Those of flows that changed since the last call are worked out anew; the others are shared with
  // what it returned, and if none changed it is the very same.
  std::shared_ptr<const FlowSummaries> Summaries();

  const TrafficStatistics& Statistics() const { return statistics_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // What a stream showed in its flow's open interval.
  struct Interval {
    bool open = false;  // it showed anything
    PsnSpans spans;
    int64_t skipped = 0;
    FlowCounts counts;
  };
  struct Stream {
    FlowKey key;
    TapId tap = 0;
    uint8_t ttl = 0;
    uint32_t flow = kNone;
    uint32_t next = kNone;  // of the same flow
    // To be compared with other streams. Once a flow had an interval with one stream alone, that
    // one has none, as long as no other comes: it adds up at once, and takes half of the memory.
    std::unique_ptr<Interval> now;
    // Of the present incarnation, without `now`:
    PsnSpans spans;
    int64_t skipped = 0;
    PackedCounts counts;
  };
  // What few flows have.
  struct History {
    Timestamp begins = Timestamp::min();  // of the present incarnation
    std::vector<Timestamp> cuts;          // to come
    std::vector<FlowIncarnation> ended;
    std::unique_ptr<FlowCounts> merged;  // incarnations before those
    // With several streams, of the present incarnation:
    FlowCounts joined;  // the best of each closed interval
    std::array<int64_t, 2> furthest = {PsnSpan::kNone, PsnSpan::kNone};  // PSNs shown by any stream
  };
  struct Flow {
    uint32_t first_stream = kNone;  // kNone: the place is free
    uint32_t stream_count = 0;
    Timestamp interval;       // the open one's start
    bool has_copies = false;  // two streams showed the same packet of the present incarnation
    // The open interval is in `joined` already, as its first stream has it.
    bool joined_now = false;
    bool changed = false;  // since the last answer,
    bool untold = false;   // in which it could not be said whether taps show parts of it,
    int8_t vote = 0;       // or what it said of its taps
    std::unique_ptr<History> history;
  };
  const FlowKey& KeyOf(const Flow& flow) const { return streams_[flow.first_stream].key; }
  uint32_t Find(const FlowKey& key) const {
    return index_.Find(key, [this](uint32_t i) -> const FlowKey& { return KeyOf(flows_[i]); });
  }
  static History& HistoryOf(Flow& flow);
  static bool HasCut(const Flow& flow) {
    return flow.history != nullptr && !flow.history->cuts.empty();
  }
  void MarkChanged(uint32_t flow);
  void TakeVoteBack(Flow& flow);
  FlowSummary Summarize(Flow& flow);
  uint32_t FindOrAdd(const FlowRecord& record);
  uint32_t AddStream(uint32_t flow, const FlowRecord& record);
  uint32_t TakeStream(uint32_t kept_flow);
  void Evict(uint32_t flow);
  static PsnSpans SpansOf(const Stream& stream);
  static void Follow(Stream& stream, Flow& flow, const FlowRecord& record);
  void AddLate(Stream& stream, Flow& flow, const FlowRecord& record);
  void CloseInterval(Flow& flow);
  void EndIncarnation(uint32_t flow);
  FlowCounts ByInterval(const Flow& flow, bool& copies) const;
  JoinedView PresentOf(const Flow& flow) const;
  static FlowCounts SumOf(const Stream& stream);
  FlowCounts SumOfStreams(const Flow& flow) const;
  FlowSummary SummaryOf(const Flow& flow, const JoinedView& present) const;

  TrafficLimits limits_;
  FlowSlotIndex index_;
  HintCache hints_;  // of streams
  std::vector<Stream> streams_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> free_streams_;
  std::vector<uint32_t> free_flows_;
  std::unordered_map<FlowKey, std::vector<Timestamp>, FlowKeyHash> early_cuts_;  // no record yet
  std::deque<uint32_t> ended_order_;  // flows, one entry for each ended incarnation
  uint32_t hand_ = 0;
  TrafficStatistics statistics_;

  std::shared_ptr<const FlowSummaries> summaries_ = std::make_shared<const FlowSummaries>();
  std::vector<uint32_t> changed_;  // flows
  std::vector<FlowKey> gone_;      // evicted since
  TapVotes votes_;
};

}  // namespace rocescope
