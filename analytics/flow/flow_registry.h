// SPDX-License-Identifier: BSD-3-Clause
// Assigns a small number, the flow's id, to each flow. The engine looks up the key of each record
// once; the trackers keep their state of a flow in arrays that are indexed by the id.
//
// When the registry is full, a new flow replaces a flow without records for ten seconds of event
// time. If a short search finds none, the new flow gets no id. Only the registry decides which
// flow is replaced; trackers then clear their state for that flow in OnEviction. A tracker may have
// state for some of the flows only, and may discard it earlier for reasons of its own.
//
// The id identifies a flow everywhere: the state of a flow at a tap is found by the id and the tap.
// The two directions of a queue pair are two flows, and their ids are unrelated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "analytics/flow/idle_evictor.h"
#include "base/prefetch.h"
#include "dataplane/record/capacity.h"
#include "dataplane/record/record.h"

namespace rocescope {

// Index of a flow in the registry. Ids are dense, and are reused after an eviction.
using FlowId = uint32_t;
inline constexpr FlowId kNoFlow = UINT32_MAX;

// The flows of a batch's records, in the order of the records. kNoFlow: the record names no flow,
// or the registry is full.
struct BatchFlows {
  std::vector<FlowId> flows;
  std::vector<FlowId> sightings;
  std::vector<FlowId> hops;
  std::vector<FlowId> samples;
};

// Prefetches the first cache lines of an object that is accessed soon.
template <size_t kLines>
void PrefetchLines(const void* at) {
  constexpr size_t kLine = 64;
  const auto* bytes = static_cast<const char*>(at);
  for (size_t i = 0; i < kLines; ++i) Prefetch(bytes + i * kLine);
}

// Returns the flow's entry of an array that grows as needed.
template <typename T>
T& StateOf(std::vector<T>& states, FlowId flow) {
  if (flow >= states.size()) states.resize(size_t{flow} + 1);
  return states[flow];
}

class FlowRegistry {
 public:
  explicit FlowRegistry(size_t capacity = kFlowCapacity) : capacity_(capacity), slots_(16) {}
  FlowRegistry(const FlowRegistry&) = delete;
  FlowRegistry& operator=(const FlowRegistry&) = delete;

  // Sets the event time. This clock, which belongs to no tap, determines which flows are idle.
  // Flows that were interned before the first call count as active at its time.
  void SetTime(Timestamp now);

  // Returns the flow's id and marks the flow active, or returns kNoFlow. A record's `hint` saves
  // the lookup if it led to the same flow before.
  FlowId Intern(const FlowKey& key, uint32_t hint = kNoFlowHint);
  // Interns the flows of all records of a batch. No flow of the batch is evicted for another one.
  void Intern(const RecordBatch& batch, BatchFlows& ids);

  // Changes the maximum number of flows. Known flows stay, so that it takes effect for new ones
  // only.
  void SetCapacity(size_t capacity) { capacity_ = std::max<size_t>(capacity, 1); }
  // A new flow also replaces a flow that was idle for this long although there is space, so that
  // the memory of a long-running process depends on its present flows. Default: 0 (disabled).
  void SetIdleTimeout(Duration timeout) { idle_timeout_ = timeout; }
  size_t size() const { return flows_.size(); }
  // Records of flows that got no id because the registry was full.
  uint64_t refused() const { return refused_; }
  // Idle flows that were replaced by new ones because the registry was full.
  uint64_t replaced() const { return replaced_; }

  FlowId Find(const FlowKey& key) const;  // kNoFlow: unknown flow
  const FlowKey& key(FlowId flow) const { return flows_[flow].key; }
  // When the flow had its latest record, by SetTime's clock. Flows without records since IdleSince
  // may be replaced.
  Timestamp last(FlowId flow) const { return flows_[flow].last; }
  Timestamp IdleSince() const { return now_ - kQuietForLong; }

  // `forget` is called before the id of an evicted flow is reused; key(flow) is still its key then.
  void OnEviction(std::function<void(FlowId)> forget) { forget_.push_back(std::move(forget)); }

 private:
  struct Entry {
    FlowKey key;
    Timestamp last;
  };
  // The hash table takes eight bytes per slot, because flows_ holds the keys.
  struct Slot {
    FlowId flow = kNoFlow;  // kNoFlow: free
    uint32_t hash = 0;
  };

  size_t Mask() const { return slots_.size() - 1; }
  size_t Next(size_t slot) const { return (slot + 1) & Mask(); }
  size_t SlotOf(const FlowKey& key, uint32_t hash) const;
  void Grow();
  void Erase(FlowId flow);
  FlowId FindOrAdd(const FlowKey& key);
  FlowId IdForNewFlow();
  FlowId FindOutdated();
  void Remember(uint32_t hint, FlowId flow);
  template <typename Record>
  void InternHinted(const std::vector<Record>& records, std::vector<FlowId>& ids);

  size_t capacity_;
  uint64_t refused_ = 0;
  uint64_t replaced_ = 0;
  std::vector<Slot> slots_;  // a power of two, a quarter free
  std::vector<Entry> flows_;
  std::vector<FlowId> hinted_;  // the flow to which a hint led most recently
  Timestamp now_;
  IdleEvictor<Timestamp> hand_;
  Duration idle_timeout_{};
  IdleEvictor<Timestamp> outdated_hand_;
  std::vector<std::function<void(FlowId)>> forget_;
};

}  // namespace rocescope
