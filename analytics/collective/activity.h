// SPDX-License-Identifier: BSD-3-Clause
// Records when each flow carried requests; jobs, collectives and iteration periods are derived from
// this. All flows share one time line. Its slots double in length until they reach the maximum;
// then the time line slides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/collective/bits.h"
#include "analytics/flow/flow_registry.h"
#include "analytics/flow/flow_states.h"
#include "base/time.h"
#include "dataplane/record/record.h"

namespace rocescope {

class ClockOffsets;

struct ActivityOptions {
  size_t flows = size_t{1} << 18;  // maximum number of flows; about 360 bytes each
  int first_width = 10;            // initial slot length: 2^10 ns
  // Final slot length: 17 ms; 34 seconds of history, periods up to ten seconds.
  int last_width = 24;
};

// Message lengths of a flow, from RETH.
struct MessageLengths {
  struct One {
    uint32_t length = 0;
    uint32_t count = 0;
  };
  std::array<One, 4> most{};
  uint32_t others = 0;

  void Add(uint32_t length, uint32_t count = 1);
};

struct FlowActivity {
  FlowKey flow;
  Bits active;             // bit 0 is the start of the time line
  MessageLengths lengths;  // lengths of individually observed data messages
};

struct TimeLine {
  Timestamp begin;
  Duration width{};   // length of a slot; one bit represents one slot
  size_t length = 0;  // slots, up to the last one with any activity
};

class ActivityTracker {
 public:
  // `flows` must outlive this object.
  explicit ActivityTracker(FlowRegistry& flows, const ActivityOptions& options = {})
      : options_(options), registry_(flows), flows_(flows, options.flows) {}

  // Clock estimates for correcting times; must outlive this object. Null: no correction.
  void SetClocks(const ClockOffsets* clocks) { clocks_ = clocks; }

  void Add(FlowId flow, const FlowRecord& record);
  void Add(FlowId flow, const ObservationRecord& record);
  // Prefetches the state of a flow. Call it a few records before Add.
  void Approach(FlowId flow) const { flows_.Approach(flow); }
  // Discards what the flow carried so far, because the queue pair has a new owner.
  void Cut(FlowId flow);

  TimeLine Line() const;
  std::vector<FlowActivity> Flows() const;                     // sorted by key
  uint64_t flows_refused() const { return flows_.refused(); }  // records
  uint64_t late() const { return late_; }  // records older than the start of the time line

 private:
  struct Flow {
    uint8_t ttl = 0;        // TTL at the tap nearest to the source
    bool is_known = false;  // active since the queue pair got its current owner
    uint64_t newest = 0;    // slot; bits of later slots are stale
    Bits bits;              // a ring: slot modulo Bits::kCount
    MessageLengths lengths;
  };

  Duration Ahead(TapId tap) const;  // offset of the tap's clock from the reference clock
  void Begin(Timestamp time);
  void Mark(Flow& flow, Timestamp time);
  void Widen();
  uint64_t Oldest() const { return newest_ < Bits::kCount ? 0 : newest_ + 1 - Bits::kCount; }

  ActivityOptions options_;
  const ClockOffsets* clocks_ = nullptr;
  bool begun_ = false;
  Timestamp origin_;
  int width_ = 0;        // a slot is 2^width_ ns long
  uint64_t newest_ = 0;  // slot
  const FlowRegistry& registry_;
  FlowStates<Flow> flows_;
  uint64_t late_ = 0;
};

}  // namespace rocescope
