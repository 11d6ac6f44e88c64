// SPDX-License-Identifier: BSD-3-Clause
// Bounds of the frames that a link loses without any counter showing it, from counters of both ends
// that are read at different times and through caches.
//
// A counter's value is known to be that of some moment within an interval. Frames that were sent
// until a moment and are missing in a value of the receiver that is certainly newer are lost.
// Frames that a value of the receiver contains were sent in a value of the sender that is certainly
// newer. So each pair of values gives a lower or an upper bound of the difference between both
// counters: its unknown start plus the frames lost so far, which never decrease. Loss therefore
// adds up, while the uncertainty of the readings does not. The bounds are tight when the link is
// idle for longer than the readings are uncertain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"

namespace rocescope {

// A value of a counter, and the interval of the moment at which the counter had it.
struct CounterMoment {
  Timestamp after;
  Timestamp until;
  uint64_t least = 0;  // the value, or bounds of it
  uint64_t most = 0;
};

class LossBounds {
 public:
  // Adds a value. Values of one counter are in order of time. `slack`: greatest error between the
  // clocks of both ends, plus the travel time of a frame.
  void AddSent(const CounterMoment& sent, Duration slack);
  void AddReceived(const CounterMoment& received, Duration slack);
  // A counter's increase is unknown: differences from before say nothing about those after.
  void Restart();

  // Frames that were certainly lost since the latest restart.
  uint64_t lost() const { return lost_; }
  // What lost() is compared with: the loss began later. Unset: no upper bound yet.
  struct Intact {
    Timestamp until;
    uint64_t sent = 0;  // the sender's value
  };
  std::optional<Intact> intact() const { return intact_; }
  // The receiver certainly counted so many frames that were not sent: the ends are not those of one
  // link, or count differently. Then lost() means nothing.
  uint64_t surplus() const { return surplus_; }
  // How many more frames than lost() may be lost until the moment of `received`, the latest value
  // of the receiver that an upper bound is about. Unset: unknown.
  struct Uncertainty {
    uint64_t frames = 0;
    uint64_t received = 0;
  };
  std::optional<Uncertainty> uncertainty() const;
  // The difference between both counters, if the latest values show it exactly.
  std::optional<int64_t> difference() const {
    return least_ && latest_most_ == least_ ? least_ : std::nullopt;
  }

 private:
  static constexpr size_t kMoments = 16;  // each end

  void AtLeast(const CounterMoment& sent, const CounterMoment& received);
  void AtMost(const CounterMoment& sent, const CounterMoment& received);

  std::deque<CounterMoment> sent_;
  std::deque<CounterMoment> received_;
  std::optional<int64_t> least_;        // greatest lower bound of the difference
  std::optional<int64_t> most_;         // least upper bound of the difference
  std::optional<int64_t> latest_most_;  // latest upper bound
  uint64_t latest_received_ = 0;        // the receiver's value in it
  Timestamp least_until_;               // end of the receiver's moment
  std::optional<Intact> intact_;
  uint64_t lost_ = 0;
  uint64_t surplus_ = 0;
};

}  // namespace rocescope
