// SPDX-License-Identifier: BSD-3-Clause
// Chooses the idle flow that a new flow replaces. Queue pairs are replaced
// continuously, and most of those that end do not announce it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace rocescope {

// Flows that were active within this time are never replaced.
inline constexpr Duration kQuietForLong = std::chrono::seconds(10);

// Scans the places of a table cyclically, a few per call, so that the work is bounded. After a
// complete scan without success it pauses until a place that it scanned may have become idle. T is
// a time type.
template <typename T>
class IdleEvictor {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kLooks = 16;

  explicit IdleEvictor(uint32_t at = 0) : at_(at) {}

  // Returns the least recently active of the next few of `places`, according to `last_of(place)`,
  // which must never decrease. Returns kNone if all of them were active at `since` or later.
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
  uint32_t in_vain_ = 0;  // consecutive places scanned without success
  T least_{};             // least time among those places
};

}  // namespace rocescope
