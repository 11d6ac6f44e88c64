// SPDX-License-Identifier: BSD-3-Clause
// The pairs that somebody outside the fabric states, by the numbers they name. A table of its own:
// what has no traffic takes no place among the flows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/connection/flow_state.h"

namespace rocescope {

class KnownPairs {
 public:
  explicit KnownPairs(size_t capacity) : capacity_(capacity) {}

  void Set(const std::vector<KnownPair>& pairs, const std::vector<KnownQueuePair>& queue_pairs);

  // The flow was seen: the pairs that name its number, for FlowState::known. A pair belongs to the
  // first segment that showed it; from the second one on it is nobody's.
  std::vector<uint32_t> Attach(const FlowKey& flow);

  struct Statement {
    Qpn partner;  // at the flow's source
    KnownPairSource source;
    std::optional<Timestamp> valid_from;
  };
  // What pair `index` of the flow's says; nothing if it is ambiguous.
  std::optional<Statement> For(const FlowKey& flow, uint32_t index) const;

  uint64_t refused() const { return refused_; }
  uint64_t ambiguous() const;
  // Whether another pair became ambiguous since this was asked: that changes what is said of flows
  // that were attached before.
  bool TakeBecameAmbiguous() { return std::exchange(became_ambiguous_, false); }

 private:
  static constexpr size_t kMaxPerNumber = 8;
  struct Entry {
    KnownPair pair;
    std::optional<Segment> segment;
    bool ambiguous = false;
  };

  void Add(const KnownPair& pair);
  void AddMutual(const FlowKey& flow);
  static FlowKey At(const IpAddress& address, Qpn qpn) {
    return {.source = {}, .destination = address, .destination_qpn = qpn};
  }

  size_t capacity_;
  std::vector<Entry> entries_;
  // By the flow to an end from the other one, its segment left at 0.
  std::unordered_map<FlowKey, std::vector<uint32_t>, TrackedFlowHash> by_flow_;
  // The numbers at the other end, by address and number.
  std::unordered_map<FlowKey, std::vector<Qpn>, TrackedFlowHash> remotes_;
  uint64_t refused_ = 0;
  bool became_ambiguous_ = false;
};

}  // namespace rocescope
