// SPDX-License-Identifier: BSD-3-Clause
// Pairs reported by sources outside the fabric, indexed by queue pair number. This table is
// separate from the flow table, so that pairs without traffic do not occupy it.
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

  // Returns the pairs that contain the number of an observed flow, for FlowState::known. A pair
  // belongs to the first segment in which it appears; once a second segment shows it, the pair is
  // ambiguous and unused.
  std::vector<uint32_t> Attach(const FlowKey& flow);

  struct Statement {
    Qpn partner;  // queue pair at the flow's source
    KnownPairSource source;
    std::optional<Timestamp> valid_from;
  };
  // Returns the statement of the flow's pair `index`, or nothing if it is ambiguous.
  std::optional<Statement> For(const FlowKey& flow, uint32_t index) const;

  uint64_t refused() const { return refused_; }
  uint64_t ambiguous() const;
  // Whether another pair became ambiguous since the last call. This changes results for flows that
  // were attached earlier.
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
  // Keyed by the flow from one end to the other, with segment 0.
  std::unordered_map<FlowKey, std::vector<uint32_t>, TrackedFlowHash> by_flow_;
  // Remote queue pair numbers by local address and number.
  std::unordered_map<FlowKey, std::vector<Qpn>, TrackedFlowHash> remotes_;
  uint64_t refused_ = 0;
  bool became_ambiguous_ = false;
};

}  // namespace rocescope
