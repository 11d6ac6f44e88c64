// SPDX-License-Identifier: BSD-3-Clause
// RETH echo: a WRITE goes to a buffer that a clear-to-send in the opposite direction granted. For
// each granting flow, this class counts which flows used its grants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analytics/connection/flow_store.h"
#include "dataplane/record/record.h"

namespace rocescope {

class RethEcho {
 public:
  explicit RethEcho(size_t grants_per_direction) : grants_per_direction_(grants_per_direction) {}

  // `record` is a WRITE of the flow.
  void Add(FlowStore& store, uint32_t flow, const ObservationRecord& record);
  // Call this before the pair is freed.
  void Forget(const HostPair& pair);

  uint64_t candidates_dropped() const { return candidates_dropped_; }
  uint64_t grants_ambiguous() const { return grants_ambiguous_; }
  uint64_t GrantsDropped(const FlowStore& store) const;

 private:
  void CountUse(FlowStore& store, uint32_t granter, const GrantUse& use);

  size_t grants_per_direction_;
  uint64_t candidates_dropped_ = 0;
  uint64_t grants_ambiguous_ = 0;
  uint64_t grants_dropped_ = 0;  // grants dropped by rings that no longer exist
};

}  // namespace rocescope
