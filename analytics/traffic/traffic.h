// SPDX-License-Identifier: BSD-3-Clause
// Sums flow records for each direction of each queue pair and each owner of its number. Every
// packet counts once, however many taps and hops showed it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analytics/chunks/chunks.h"
#include "analytics/flow/flow_registry.h"
#include "analytics/traffic/copies.h"
#include "analytics/traffic/flow_counts.h"
#include "analytics/traffic/packed_counts.h"
#include "dataplane/record/capacity.h"
#include "dataplane/record/record.h"

namespace rocescope {

// A tap that observed the flow, and the TTL there.
struct FlowStream {
  TapId tap = 0;
  uint8_t ttl = 0;

  friend bool operator==(const FlowStream&, const FlowStream&) = default;
};

// What a flow carried until its queue pair number changed owner.
struct FlowIncarnation {
  std::optional<Timestamp> until;  // unset: the current one
  FlowCounts counts;

  friend bool operator==(const FlowIncarnation&, const FlowIncarnation&) = default;
};

// One direction of a queue pair.
struct FlowSummary {
  FlowKey flow;
  FlowCounts total;                           // over all incarnations
  std::vector<FlowIncarnation> incarnations;  // sorted by time; empty if `total` is the only one
  std::vector<FlowStream> streams;            // sorted by tap, then descending TTL
  // Whether the taps agree on the packets of the current incarnation.
  TapAgreement agreement = TapAgreement::kAgree;

  // Returns what was carried during the connection with this valid_until; nullptr: nothing.
  const FlowCounts* Of(std::optional<Timestamp> valid_until) const;

  uint64_t ClassPackets(OperationClass c) const { return total.ClassPackets(c); }
  uint64_t DataBytes() const { return total.DataBytes(); }

  friend bool operator==(const FlowSummary&, const FlowSummary&) = default;
};

using FlowSummaries = Chunks<FlowSummary>;  // sorted by key

// Votes of flows with sequence numbers on whether two taps show parts of the traffic (such as two
// files of one port) or copies.
class TapVotes {
 public:
  // `streams` are sorted by tap. A positive vote means that the taps show different
  // parts of the traffic, a negative one that they show copies of it.
  void Add(const std::vector<FlowStream>& streams, int vote);
  bool ForParts(const std::vector<FlowStream>& streams) const;
  // Whether the result changed for any two taps since the last call.
  bool TakeChange();

 private:
  struct Votes {
    int64_t sum = 0;
    bool was_for_parts = false;
  };
  static uint32_t KeyOf(TapId a, TapId b) { return uint32_t{a} << 16 | b; }

  std::unordered_map<uint32_t, Votes> votes_;  // by two taps, the lower one first
};

struct TrafficLimits {
  size_t streams = kFlowCapacity;
  // Number of incarnations kept separately; older ones are merged.
  size_t closed_incarnations = 16384;
};

struct TrafficStatistics {
  uint64_t flows_evicted = 0;
  FlowCounts evicted;  // traffic of the evicted flows, and of records without a flow id
  // Records older than the flow's open interval: counted only for their own tap.
  uint64_t late_records = 0;
  uint64_t incarnations_merged = 0;  // incarnations merged because of the limit
};

// When the table of streams is full, a new stream replaces the flow that has been idle longest
// among a few candidates (clock algorithm). The counts of evicted flows, including those that the
// registry evicts, remain in the statistics.
class TrafficTotals {
 public:
  // `flows` must outlive this object.
  explicit TrafficTotals(FlowRegistry& flows, const TrafficLimits& limits = {});

  void Add(FlowId flow, const FlowRecord& record);
  // Prefetch the state of a flow, then of its first stream. Call them a few records before Add.
  void Approach(FlowId flow) const;
  void ApproachStream(FlowId flow) const;

  // Starts a new incarnation of the flow at `time`: a record that ends before `time` counts for the
  // old incarnation, any other for the new one. The call may precede the records of the flow.
  void Cut(FlowId flow, Timestamp time);

  // Recomputes the flows that changed since the last call and shares all others with the previous
  // result; without any change it returns the same object.
  std::shared_ptr<const FlowSummaries> Summaries();

  const TrafficStatistics& Statistics() const { return statistics_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // What a stream showed in the flow's open interval.
  struct Interval {
    bool open = false;  // whether the stream has shown a packet in this interval
    PsnSpans spans;
    int64_t skipped = 0;
    FlowCounts counts;
  };
  struct Stream {
    TapId tap = 0;
    uint8_t ttl = 0;
    uint32_t next = kNone;  // next stream of the same flow
    // The open interval, for comparison with other streams. Null if this is the flow's only
    // stream and has been so for at least one interval. Counts are then added immediately, which
    // halves the memory.
    std::unique_ptr<Interval> now;
    // The members below describe the current incarnation and do not include `now`.
    PsnSpans spans;
    int64_t skipped = 0;
    PackedCounts counts;
  };
  // Rarely needed data.
  struct History {
    Timestamp begins = Timestamp::min();  // start of the current incarnation
    std::vector<Timestamp> cuts;          // times at which later incarnations start
    std::vector<FlowIncarnation> ended;
    std::unique_ptr<FlowCounts> merged;  // older incarnations, merged
    // For the current incarnation, if there are several streams:
    FlowCounts joined;  // combined counts of each closed interval
    // Highest PSNs shown by any stream.
    std::array<int64_t, 2> furthest = {PsnSpan::kNone, PsnSpan::kNone};
  };
  struct Flow {
    uint32_t first_stream = kNone;  // kNone: no record yet
    uint32_t stream_count = 0;
    Timestamp interval;       // start of the open interval
    bool has_copies = false;  // two streams showed the same packet of the current incarnation
    // `joined` already contains the open interval as shown by its first stream.
    bool joined_now = false;
    bool changed = false;  // changed since the last answer
    bool untold = false;   // it was unknown in the last answer whether the taps show parts
    int8_t vote = 0;       // vote about its taps in the last answer
    std::unique_ptr<History> history;
  };
  static History& HistoryOf(Flow& flow);
  static bool HasCut(const Flow& flow) {
    return flow.history != nullptr && !flow.history->cuts.empty();
  }
  void MarkChanged(FlowId flow);
  void Vote(FlowId flow, const std::vector<FlowStream>& streams, int8_t vote);
  FlowSummary Summarize(FlowId flow);
  Stream& FindOrAdd(FlowId flow, const FlowRecord& record);
  Stream& AddStream(FlowId flow, const FlowRecord& record);
  uint32_t TakeStream(FlowId kept_flow);
  void Evict(FlowId flow);
  static PsnSpans SpansOf(const Stream& stream);
  static void Follow(Stream& stream, Flow& flow, const FlowRecord& record);
  void AddLate(Stream& stream, Flow& flow, const FlowRecord& record);
  void CloseInterval(Flow& flow);
  void EndIncarnation(FlowId flow);
  FlowCounts ByInterval(const Flow& flow, bool& copies) const;
  JoinedView PresentOf(const Flow& flow) const;
  static FlowCounts SumOf(const Stream& stream);
  FlowCounts SumOfStreams(const Flow& flow) const;
  FlowSummary SummaryOf(FlowId flow, const JoinedView& present) const;

  const FlowRegistry& registry_;
  TrafficLimits limits_;
  std::vector<Stream> streams_;
  std::vector<Flow> flows_;  // indexed by id
  std::vector<uint32_t> free_streams_;
  std::deque<FlowId> ended_order_;  // one entry per ended incarnation
  uint32_t hand_ = 0;
  TrafficStatistics statistics_;

  std::shared_ptr<const FlowSummaries> summaries_ = std::make_shared<const FlowSummaries>();
  std::vector<FlowId> changed_;
  std::vector<FlowKey> gone_;  // evicted since the last answer
  TapVotes votes_;
};

}  // namespace rocescope
