// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/flow_index.h"

namespace rocescope {

void FlowIndex::Store(uint64_t hash, uint32_t number) {
  uint64_t at = hash & mask_;
  while (slots_[at].number_plus_one != 0) at = (at + 1) & mask_;
  slots_[at] = {.tag = static_cast<uint32_t>(hash >> 32), .number_plus_one = number + 1};
}

}  // namespace rocescope
