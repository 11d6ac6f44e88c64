// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/flow_index.h"

#include <utility>

namespace rocescope {

void FlowIndex::Grow() {
  old_ = std::exchange(slots_, ZeroedArray<Slot>(slots_.size() * 2));
  mask_ = slots_.size() - 1;
  next_moved_ = 0;
}

void FlowIndex::Forget(uint64_t hash, uint32_t number) {
  const uint64_t mask = old_.size() - 1;
  uint64_t at = hash & mask;
  while (old_[at].number_plus_one != number + 1) at = (at + 1) & mask;
  old_[at].number_plus_one = kMoved;
}

void FlowIndex::Store(uint64_t hash, uint32_t number) {
  uint64_t at = hash & mask_;
  while (slots_[at].number_plus_one != 0) at = (at + 1) & mask_;
  slots_[at] = {.tag = static_cast<uint32_t>(hash >> 32), .number_plus_one = number + 1};
}

}  // namespace rocescope
