// SPDX-License-Identifier: BSD-3-Clause
// A compact form of FlowCounts that stores only non-zero values, because most counts of most flows
// remain zero.
#pragma once

#include <cstdint>
#include <memory>

#include "analytics/traffic/flow_counts.h"

namespace rocescope {

class PackedCounts {
 public:
  PackedCounts& operator+=(const FlowCounts& later);
  FlowCounts Unpacked() const;

  // Prefetches the memory that the next `+=` uses outside of this object.
  void Approach() const { __builtin_prefetch(words_.get()); }

 private:
  void MakeRoom(uint64_t needed);

  FlowOutline outline_;
  uint64_t present_ = 0;  // one bit for each word of FlowCounts stored in `words_`
  std::unique_ptr<uint64_t[]> words_;
};

}  // namespace rocescope
