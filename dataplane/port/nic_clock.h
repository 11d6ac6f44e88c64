// SPDX-License-Identifier: BSD-3-Clause
// A NIC's clock moved onto ours: ticks that say how long ago become times since the epoch.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {

// Both clocks are read together from time to time. The rate comes from readings that lie far enough
// apart; until there are two, frames have the time of their arrival. So they have when one of the
// clocks has stepped: a reading that lies far from where the ones before lead is a new first one.
class NicClock {
 public:
  // The NIC's clock stood at `ticks` between two looks at ours. Too far apart, they say nothing:
  // something else had the core meanwhile.
  void Anchor(uint64_t ticks, Timestamp before, Timestamp after) {
    if (after - before > kTooLong || after < before) return;
    const Timestamp now = before + (after - before) / 2;
    if (!anchored_ || ticks <= first_ticks_ || now < first_ || HasStepped(ticks, now)) {
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
    const double ns = Since(ticks);
    if (ns > kFar || ns < -kFar) return arrival;
    const Timestamp time = now_ + Duration(static_cast<int64_t>(ns));
    const Duration off = time - arrival;
    return off > kBelievable || off < -kBelievable ? arrival : time;
  }

 private:
  static constexpr Duration kTooLong = std::chrono::microseconds(100);
  static constexpr double kStep = 1e6;  // ns; clocks that are slewed stray by 0.05 % at most
  static constexpr Duration kApart = std::chrono::milliseconds(100);
  static constexpr Duration kBelievable = std::chrono::seconds(1);
  static constexpr double kFar = 1e12;  // ns

  double Since(uint64_t ticks) const {
    return static_cast<double>(static_cast<int64_t>(ticks - ticks_)) * ns_per_tick_;
  }
  bool HasStepped(uint64_t ticks, Timestamp now) const {
    const double off = Since(ticks) - static_cast<double>((now - now_).count());
    return known_ && (off > kStep || off < -kStep);
  }

  bool anchored_ = false;
  bool known_ = false;
  uint64_t first_ticks_ = 0;
  Timestamp first_;
  uint64_t ticks_ = 0;
  Timestamp now_;
  double ns_per_tick_ = 0;
};

}  // namespace rocescope
