// SPDX-License-Identifier: BSD-3-Clause
// Converts ticks of a NIC's clock to times since the epoch.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {

// Both clocks are read together periodically. The rate is computed from readings that are far
// enough apart; until there are two, TimeOf returns the arrival time. If a reading is far from the
// prediction of the earlier ones, one of the clocks was stepped, and the reading becomes a new
// first one.
class NicClock {
 public:
  // Takes a reading: the NIC's clock had the value `ticks` between two readings of the system
  // clock. The reading is ignored if these are too far apart, because the thread was preempted in
  // between.
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

  // Converts `ticks` to a time. Returns `arrival` if the result is more than one second away from
  // it.
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
  static constexpr double kStep = 1e6;  // ns; slewed clocks drift by at most 0.05 %
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
