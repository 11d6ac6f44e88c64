// SPDX-License-Identifier: BSD-3-Clause
// FlowCounts for keeping: of most flows all but a few sums are zero for ever, and take no room.
#pragma once

#include <cstdint>
#include <memory>

#include "analytics/traffic/flow_counts.h"

namespace rocescope {

class PackedCounts {
 public:
  PackedCounts& operator+=(const FlowCounts& later);
  FlowCounts Unpacked() const;

  // Starts loading what the next `+=` touches outside of this object.
  void Approach() const { __builtin_prefetch(words_.get()); }

 private:
  void MakeRoom(uint64_t needed);

  FlowOutline outline_;
  uint64_t present_ = 0;  // a bit for each word of FlowCounts that is in `words_`
  std::unique_ptr<uint64_t[]> words_;
};

}  // namespace rocescope
