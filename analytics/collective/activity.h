// SPDX-License-Identifier: BSD-3-Clause
// When each flow carried requests: the rhythm by which jobs, collectives and their periods are
// known. One time line for all flows; its stretches double in length until they are as long as they
// may become, from then on the line slides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/collective/bits.h"
#include "base/time.h"
#include "dataplane/record/flow_slot_index.h"
#include "dataplane/record/hint_cache.h"
#include "dataplane/record/idle_evictor.h"
#include "dataplane/record/record.h"

namespace rocescope {

class ClockOffsets;

struct ActivityOptions {
  size_t flows = size_t{1} << 18;  // followed; about 360 octets each
  int first_width = 10;            // of a stretch: 2^10 ns
  int last_width = 24;             // 17 ms: 34 seconds of memory, periods up to ten
};

// Lengths that a flow's messages have, by RETH.
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
  Bits active;             // bit 0 is the time line's beginning
  MessageLengths lengths;  // of data messages that were seen singly
};

struct TimeLine {
  Timestamp begin;
  Duration width{};   // of a stretch, for which a bit stands
  size_t length = 0;  // stretches, up to the last one in which anything was active
};

struct ActivityStatistics {
  uint64_t flows_evicted = 0;  // that were silent, where there was no room for another
  uint64_t flows_refused = 0;  // records: all places were taken by flows that were active lately
  uint64_t late = 0;           // sightings and records from before the time line's beginning
};

class ActivityTracker {
 public:
  explicit ActivityTracker(const ActivityOptions& options = {}) : options_(options) {}

  // By whose estimates times are corrected, which must outlive this one; null: by none.
  void SetClocks(const ClockOffsets* clocks) { clocks_ = clocks; }

  void Add(const FlowRecord& record);
  void Add(const ObservationRecord& record);
  // Starts loading what the record will be added to: worth it a few records ahead.
  void Approach(const FlowRecord& record) const;
  // What the flow carried until now was another owner's.
  void Cut(const FlowKey& flow);

  TimeLine Line() const;
  std::vector<FlowActivity> Flows() const;  // by key
  const ActivityStatistics& Statistics() const { return statistics_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Flow {
    FlowKey key;
    uint8_t ttl = 0;        // that of the tap nearest the source
    bool is_known = false;  // since its queue pair has this owner
    uint64_t newest = 0;    // stretch; bits of later ones are stale
    Bits bits;              // a ring: stretch modulo Bits::kCount
    MessageLengths lengths;
  };

  Duration Ahead(TapId tap) const;  // of the reference's clock
  Flow* FindOrAdd(const FlowKey& key, uint32_t hint);
  const FlowKey& KeyOf(uint32_t place) const { return flows_[place].key; }
  uint32_t Find(const FlowKey& key) const {
    return index_.Find(key, [this](uint32_t place) -> const FlowKey& { return KeyOf(place); });
  }
  uint32_t TakePlace();
  void Begin(Timestamp time);
  void Mark(Flow& flow, Timestamp time);
  void Widen();
  uint64_t Oldest() const { return newest_ < Bits::kCount ? 0 : newest_ + 1 - Bits::kCount; }

  ActivityOptions options_;
  const ClockOffsets* clocks_ = nullptr;
  bool begun_ = false;
  Timestamp origin_;
  int width_ = 0;        // of a stretch: 2^width_ ns
  uint64_t newest_ = 0;  // stretch
  FlowSlotIndex index_;
  HintCache hints_;
  std::vector<Flow> flows_;
  IdleEvictor<uint64_t> hand_;
  ActivityStatistics statistics_;
};

}  // namespace rocescope
