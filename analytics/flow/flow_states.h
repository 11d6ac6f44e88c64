// SPDX-License-Identifier: BSD-3-Clause
// State of some flows of a registry, for trackers whose state of a flow is large: the table has a
// limit of its own, and memory is allocated only for flows that have state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "analytics/flow/flow_registry.h"
#include "analytics/flow/idle_evictor.h"

namespace rocescope {

// When the table is full, a new flow replaces a flow that the registry considers idle.
template <typename T>
class FlowStates {
 public:
  // `flows` must outlive this object.
  FlowStates(FlowRegistry& flows, size_t limit) : flows_(flows), limit_(limit) {
    flows_.OnEviction([this](FlowId flow) { Evict(flow); });
  }
  FlowStates(const FlowStates&) = delete;
  FlowStates& operator=(const FlowStates&) = delete;

  T* Find(FlowId flow) const { return flow < states_.size() ? states_[flow].get() : nullptr; }

  // Returns nullptr, and counts this, if the flow has no id or the table is full of active flows.
  T* FindOrAdd(FlowId flow) {
    if (T* const known = Find(flow); known != nullptr) return known;
    if (flow == kNoFlow || !MakeRoom()) {
      ++refused_;
      return nullptr;
    }
    ++count_;
    std::unique_ptr<T>& state = StateOf(states_, flow);
    state = std::make_unique<T>();
    return state.get();
  }

  // Prefetches the state of a flow that is accessed soon.
  void Approach(FlowId flow) const {
    if (const T* const state = Find(flow); state != nullptr) PrefetchLines<2>(state);
  }

  template <typename Visit>  // visit(flow, state)
  void ForEach(Visit visit) const {
    for (FlowId flow = 0; flow < states_.size(); ++flow) {
      if (states_[flow] != nullptr) visit(flow, *states_[flow]);
    }
  }

  uint64_t refused() const { return refused_; }  // failed calls of FindOrAdd
  uint64_t evicted() const { return evicted_; }  // flows

 private:
  bool MakeRoom() {
    if (count_ < limit_) return true;
    const FlowId idle = hand_.Find(
        static_cast<uint32_t>(states_.size()), flows_.IdleSince(),
        [this](FlowId flow) { return states_[flow] ? flows_.last(flow) : Timestamp::max(); });
    if (idle == kNoFlow) return false;
    Evict(idle);
    return true;
  }
  void Evict(FlowId flow) {
    if (Find(flow) == nullptr) return;
    states_[flow].reset();
    --count_;
    ++evicted_;
  }

  FlowRegistry& flows_;
  size_t limit_;
  std::vector<std::unique_ptr<T>> states_;  // indexed by flow
  size_t count_ = 0;
  IdleEvictor<Timestamp> hand_;
  uint64_t refused_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace rocescope
