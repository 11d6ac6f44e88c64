// SPDX-License-Identifier: BSD-3-Clause
// Stores the state of flows, their states at taps, and host pairs. A flow's state is found by its
// id; the registry bounds their number.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analytics/connection/flow_state.h"
#include "analytics/flow/flow_registry.h"
#include "dataplane/record/capacity.h"

namespace rocescope {

struct FlowStoreLimits {
  // Limit per host pair, because the answer of a pair is computed in one step.
  size_t flows_per_side = kFlowCapacity / 64;
  size_t taps_per_pair = 64;
};

class FlowStore {
 public:
  // `flows` must outlive this object.
  FlowStore(const FlowRegistry& flows, const FlowStoreLimits& limits)
      : registry_(flows), limits_(limits) {}

  // Creates the flow's state unless it exists. Returns false if its host pair is full.
  bool Add(FlowId flow);
  // Returns an idle flow of a full host pair that can be evicted for this one, or kNoFlow if a
  // short search finds none.
  FlowId FindQuiet(FlowId flow) const;
  // Consecutive records belong to different flows in different places in memory. Call Approach a
  // few records ahead to prefetch a flow's state, and ApproachTap to prefetch what that state
  // refers to.
  void Approach(FlowId flow) const;
  void ApproachTap(FlowId flow) const;
  bool Has(FlowId flow) const { return flow < flows_.size() && flows_[flow].pair != kNoFlow; }
  FlowId Find(const FlowKey& key) const;  // kNoFlow: the flow has no state
  const FlowKey& key(FlowId flow) const { return registry_.key(flow); }

  // Returns the flow's state at the tap, or nullptr if it is new and the pair has too many taps.
  // `is_new`, if not null, reports whether this call created the state.
  FlowAtTap* AtTap(FlowId flow, TapId tap, bool* is_new = nullptr);

  FlowState& flow(FlowId flow) { return flows_[flow]; }
  const FlowState& flow(FlowId flow) const { return flows_[flow]; }
  FlowAtTap& at_tap(uint32_t index) { return at_taps_[index]; }
  const FlowAtTap& at_tap(uint32_t index) const { return at_taps_[index]; }
  uint32_t IndexOf(const FlowAtTap& state) const {
    return static_cast<uint32_t>(&state - at_taps_.data());
  }
  HostPair& pair(uint32_t index) { return pairs_[index]; }
  const HostPair& pair(uint32_t index) const { return pairs_[index]; }
  size_t flow_slots() const { return flows_.size(); }  // includes unused entries
  size_t pair_slots() const { return pairs_.size(); }  // freed slots have no flows

  // Number of flows that sent requests on the channel.
  uint32_t& requesters(uint32_t channel) { return requesters_[channel]; }
  uint32_t requesters(uint32_t channel) const { return requesters_[channel]; }

  // Returns the current incarnation of the flow, for use as a reference.
  FlowVersion VersionOf(FlowId flow) const { return {flow, flows_[flow].incarnation}; }
  bool IsCurrent(const FlowVersion& version) const {
    return flows_[version.flow].incarnation == version.incarnation;
  }

  // Starts a new incarnation and invalidates all knowledge about the flow.
  void Reset(FlowId flow);
  // Frees the flow's state, and that of its pair if the pair has no other flow.
  void Free(FlowId flow);

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
  void FreePair(uint32_t pair);
  struct PairKeyHash {
    size_t operator()(const HostPairKey& key) const {
      return HashUnorderedPair(key.low, key.high, key.segment);
    }
  };

  uint32_t PairOf(const FlowKey& key);
  uint32_t ChannelOf(HostPair& pair, TapId tap);

  const FlowRegistry& registry_;
  FlowStoreLimits limits_;
  std::unordered_map<HostPairKey, uint32_t, PairKeyHash> pair_index_;
  std::vector<FlowState> flows_;  // indexed by id
  std::vector<FlowAtTap> at_taps_;
  std::vector<HostPair> pairs_;
  std::vector<uint32_t> requesters_;  // indexed by channel
  std::vector<uint32_t> free_at_taps_;
  std::vector<uint32_t> free_pairs_;
  std::vector<uint32_t> free_channels_;  // the first of two
  std::vector<HostPairKey> changed_;
};

}  // namespace rocescope
