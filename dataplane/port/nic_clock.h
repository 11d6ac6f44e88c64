// SPDX-License-Identifier: BSD-3-Clause
// A NIC's clock moved onto ours: ticks that say how long ago become times since the epoch.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace rocescope {

// Both clocks are read together from time to time. The rate comes from readings that lie far enough
// apart; until there are two, frames have the time of their arrival.
class NicClock {
 public:
  // The NIC's clock stood at `ticks` when ours said `now`.
  void Anchor(uint64_t ticks, Timestamp now) {
    if (!anchored_ || ticks <= first_ticks_ ||
        now < first_) {  // the first, or a clock was set back
      first_ticks_ = ticks;
      first_ = now;
      anchored_ = true;
      known_ = false;
    } else if (now - first_ >= kApart) {
      ns_per_tick_ =
          static_cast<double>((now - first_).count()) / static_cast<double>(ticks - first_ticks_);
      known_ = true;
    }
    ticks_ = ticks;
    now_ = now;
  }

  // When the NIC's clock stood at `ticks`. A value that makes no sense against `arrival`, more than
  // a second from it, is replaced by it.
  Timestamp TimeOf(uint64_t ticks, Timestamp arrival) const {
    if (!known_) return arrival;
    const auto apart = static_cast<int64_t>(ticks - ticks_);
    const double ns = static_cast<double>(apart) * ns_per_tick_;
    if (ns > kFar || ns < -kFar) return arrival;
    const Timestamp time = now_ + Duration(static_cast<int64_t>(ns));
    const Duration off = time - arrival;
    return off > kBelievable || off < -kBelievable ? arrival : time;
  }

 private:
  static constexpr Duration kApart = std::chrono::milliseconds(100);
  static constexpr Duration kBelievable = std::chrono::seconds(1);
  static constexpr double kFar = 1e12;  // ns

  bool anchored_ = false;
  bool known_ = false;
  uint64_t first_ticks_ = 0;
  Timestamp first_;
  uint64_t ticks_ = 0;
  Timestamp now_;
  double ns_per_tick_ = 0;
};

}  // namespace rocescope
