// SPDX-License-Identifier: BSD-3-Clause
// Stores flows, their states at taps, and host pairs. The store is bounded; entries are found by
// key and reused after an idle time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analytics/connection/flow_state.h"
#include "dataplane/record/capacity.h"
#include "dataplane/record/flow_slot_index.h"
#include "dataplane/record/hint_cache.h"
#include "dataplane/record/idle_evictor.h"

namespace rocescope {

struct FlowStoreLimits {
  size_t flows = kFlowCapacity;
  // Limit per host pair, because the answer of a pair is computed in one step.
  size_t flows_per_side = kFlowCapacity / 64;
  size_t taps_per_pair = 64;
};

class FlowStore {
 public:
  explicit FlowStore(const FlowStoreLimits& limits) : limits_(limits) {}

  // Sets the current event time.
  void SetTime(Timestamp now) { now_ = std::max(now_, now); }

  // Returns the flow's index and marks it active, or returns kNoFlow if it is new and the table is
  // full. `hint` from the record saves the lookup if it led to the same flow before.
  uint32_t FindOrAdd(const FlowKey& key, uint32_t hint = kNoFlowHint);
  // Returns an idle flow that can be evicted for this one, or kNoFlow if a short search finds none.
  uint32_t FindQuiet(const FlowKey& key);
  // Consecutive records belong to different flows in different places in memory. Call Approach a
  // few records ahead to prefetch a flow's state, and ApproachTap to prefetch what that state
  // refers to.
  void Approach(uint32_t hint) const;
  void ApproachTap(uint32_t hint) const;
  uint32_t Find(const FlowKey& key) const;

  // Returns the flow's state at the tap, or nullptr if it is new and the pair has too many taps.
  // `is_new`, if not null, reports whether this call created the state.
  FlowAtTap* AtTap(uint32_t flow, TapId tap, bool* is_new = nullptr);

  FlowState& flow(uint32_t index) { return flows_[index]; }
  const FlowState& flow(uint32_t index) const { return flows_[index]; }
  FlowAtTap& at_tap(uint32_t index) { return at_taps_[index]; }
  const FlowAtTap& at_tap(uint32_t index) const { return at_taps_[index]; }
  uint32_t IndexOf(const FlowAtTap& state) const {
    return static_cast<uint32_t>(&state - at_taps_.data());
  }
  HostPair& pair(uint32_t index) { return pairs_[index]; }
  const HostPair& pair(uint32_t index) const { return pairs_[index]; }
  size_t flow_slots() const { return flows_.size(); }  // freed slots are inactive
  size_t pair_slots() const { return pairs_.size(); }  // freed slots have no flows

  // Number of flows that sent requests on the channel.
  uint32_t& requesters(uint32_t channel) { return requesters_[channel]; }
  uint32_t requesters(uint32_t channel) const { return requesters_[channel]; }

  // Returns the current incarnation of the flow, for use as a reference.
  FlowVersion VersionOf(uint32_t index) const { return {index, flows_[index].incarnation}; }
  bool IsCurrent(const FlowVersion& version) const {
    return flows_[version.flow].incarnation == version.incarnation;
  }

  // Starts a new incarnation and invalidates all knowledge about the flow.
  void Reset(uint32_t flow);
  // Frees the flow's slots, and those of its pair if the pair has no other flow.
  void Free(uint32_t flow);

  // Pairs whose answer may differ from the last one.
  void MarkChanged(uint32_t pair) {
    if (!std::exchange(pairs_[pair].changed, true)) changed_.push_back(pairs_[pair].key);
  }
  void MarkChanged(const HostPairKey& pair);
  void MarkAllChanged();
  bool has_changes() const { return !changed_.empty(); }
  // Returns the changed pairs in order, without duplicates, including pairs that no longer exist.
  std::vector<HostPairKey> TakeChanged();
  uint32_t FindPair(const HostPairKey& pair) const;  // kNoFlow: unknown pair

 private:
  uint32_t FindOrAddByKey(const FlowKey& key);
  void FreePair(uint32_t pair);
  struct PairKeyHash {
    size_t operator()(const HostPairKey& key) const {
      return HashUnorderedPair(key.low, key.high, key.segment);
    }
  };

  uint32_t PairOf(const FlowKey& key);
  uint32_t ChannelOf(HostPair& pair, TapId tap);

  FlowStoreLimits limits_;
  FlowSlotIndex index_;
  HintCache hints_;
  std::unordered_map<HostPairKey, uint32_t, PairKeyHash> pair_index_;
  std::vector<FlowState> flows_;
  std::vector<FlowAtTap> at_taps_;
  std::vector<HostPair> pairs_;
  std::vector<uint32_t> requesters_;  // indexed by channel
  std::vector<uint32_t> free_flows_;
  std::vector<uint32_t> free_at_taps_;
  std::vector<uint32_t> free_pairs_;
  std::vector<uint32_t> free_channels_;  // the first of two
  std::vector<HostPairKey> changed_;
  Timestamp now_;
  IdleEvictor<Timestamp> hand_;
};

}  // namespace rocescope
