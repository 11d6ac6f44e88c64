// SPDX-License-Identifier: BSD-3-Clause
// Whose place a newcomer takes in a reader's full table of flows: queue pairs are replaced for
// ever, and most of those that ended never say so.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace rocescope {

// Flows that were silent for less long keep their places, whoever comes.
inline constexpr Duration kQuietForLong = std::chrono::seconds(10);

// Goes round the places, a few for each question, so that the work is bounded.
class QuietHand {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kLooks = 16;

  // The place that was heard of least lately among the next few of `places`, by `last_of(place)`;
  // kNone if all of these were heard of at `since` or later.
  template <typename T, typename LastOf>
  uint32_t Find(uint32_t places, T since, LastOf last_of) {
    uint32_t quietest = kNone;
    for (uint32_t look = 0; look < kLooks && look < places; ++look) {
      at_ = at_ + 1 < places ? at_ + 1 : 0;
      const T last = last_of(at_);
      if (!(last < since)) continue;
      since = last;
      quietest = at_;
    }
    return quietest;
  }

 private:
  uint32_t at_ = 0;
};

}  // namespace rocescope
