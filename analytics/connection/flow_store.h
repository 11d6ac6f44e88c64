// SPDX-License-Identifier: BSD-3-Clause
// Flows, their states at taps, and host pairs: found by key, bounded, reused after silence.
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
  size_t flows_per_side = kFlowCapacity / 64;  // of a host pair: its answer is worked out at once
  size_t taps_per_pair = 64;
};

class FlowStore {
 public:
  explicit FlowStore(const FlowStoreLimits& limits) : limits_(limits) {}

  // Event time has reached `now`.
  void SetTime(Timestamp now) { now_ = std::max(now_, now); }

  // The flow's index, which is heard of thereby; kNoFlow if it is new and there is no room.
  // `hint` is the record's: it saves the look-up where it led to the same flow before.
  uint32_t FindOrAdd(const FlowKey& key, uint32_t hint = kNoFlowHint);
  // A flow long silent that keeps this one from having room; kNoFlow if a few looks find none.
  uint32_t FindQuiet(const FlowKey& key);
  // Records come flow by flow, each with a state elsewhere in memory. A few records ahead of its
  // turn, Approach starts loading a flow's state, and ApproachTap what the state leads to.
  void Approach(uint32_t hint) const;
  void ApproachTap(uint32_t hint) const;
  uint32_t Find(const FlowKey& key) const;

  // The flow's state at the tap; nullptr if it is new and the pair has too many taps.
  // `is_new`, if not null, is set to whether it was made by this call.
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
  size_t flow_slots() const { return flows_.size(); }  // freed ones are not active
  size_t pair_slots() const { return pairs_.size(); }  // freed ones have no flows

  // Flows that sent requests on the channel.
  uint32_t& requesters(uint32_t channel) { return requesters_[channel]; }
  uint32_t requesters(uint32_t channel) const { return requesters_[channel]; }

  // The flow as it is now, for others to remember.
  FlowVersion VersionOf(uint32_t index) const { return {index, flows_[index].incarnation}; }
  bool IsCurrent(const FlowVersion& version) const {
    return flows_[version.flow].incarnation == version.incarnation;
  }

  // Begins a new incarnation: what was learned of the flow is forgotten, by others too.
  void Reset(uint32_t flow);
  // Gives the flow's places back, and its pair's if it was the last one there.
  void Free(uint32_t flow);

  // Pairs whose answer may differ from the last one.
  void MarkChanged(uint32_t pair) {
    if (!std::exchange(pairs_[pair].changed, true)) changed_.push_back(pairs_[pair].key);
  }
  void MarkChanged(const HostPairKey& pair);
  void MarkAllChanged();
  bool has_changes() const { return !changed_.empty(); }
  // In order, each once; a pair that is no more among them.
  std::vector<HostPairKey> TakeChanged();
  uint32_t FindPair(const HostPairKey& pair) const;  // kNoFlow if there is none

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
  std::vector<uint32_t> requesters_;  // by channel
  std::vector<uint32_t> free_flows_;
  std::vector<uint32_t> free_at_taps_;
  std::vector<uint32_t> free_pairs_;
  std::vector<uint32_t> free_channels_;  // the first of two
  std::vector<HostPairKey> changed_;
  Timestamp now_;
  IdleEvictor<Timestamp> hand_;
};

}  // namespace rocescope
