// SPDX-License-Identifier: BSD-3-Clause
// Whose place a newcomer takes in a reader's full table of flows: queue pairs are replaced for
// ever, and most of those that ended never say so.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace rocescope {

// Flows that were silent for less long keep their places, whoever comes.
inline constexpr Duration kQuietForLong = std::chrono::seconds(10);

// Goes round the places of a table, a few for each question, so that the work is bounded. Where a
// whole round was in vain it rests until a place that it saw may have become quiet. T is a time.
template <typename T>
class IdleEvictor {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kLooks = 16;

  explicit IdleEvictor(uint32_t at = 0) : at_(at) {}

  // The place that was heard of least lately among the next few of `places`, by `last_of(place)`,
  // which never becomes less; kNone if all of these were heard of at `since` or later.
  template <typename LastOf>
  uint32_t Find(uint32_t places, T since, LastOf last_of) {
    if (in_vain_ >= places) {
      if (!(least_ < since)) return kNone;
      in_vain_ = 0;
    }
    uint32_t quietest = kNone;
    for (uint32_t look = 0; look < kLooks && look < places; ++look) {
      at_ = at_ + 1 < places ? at_ + 1 : 0;
      const T last = last_of(at_);
      least_ = in_vain_ == 0 ? last : std::min(least_, last);
      ++in_vain_;
      if (!(last < since)) continue;
      since = last;
      quietest = at_;
    }
    if (quietest != kNone) in_vain_ = 0;
    return quietest;
  }

 private:
  uint32_t at_;
  uint32_t in_vain_ = 0;  // looks since it last found one
  T least_{};             // that these saw
};

}  // namespace rocescope
