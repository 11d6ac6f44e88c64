// SPDX-License-Identifier: BSD-3-Clause
// The time against which the age of stored rows is measured. It protects the history from a wrong
// system clock: it follows the clock only while the clock agrees with the last trusted time plus
// the time since then by the monotonic clock.
#pragma once

#include <optional>

#include "base/time.h"

namespace rocescope {

// State that survives a restart.
struct TrustedTimeState {
  Timestamp trusted;                   // last trusted time
  std::optional<Timestamp> candidate;  // clock that disagrees with it
  Duration confirmed{};                // how long the candidate has run steadily

  friend bool operator==(const TrustedTimeState&, const TrustedTimeState&) = default;
};

class TrustedTime {
 public:
  // Greatest difference between the clock and the trusted time at which the clock is trusted. The
  // appliance may have been off that long.
  static constexpr Duration kMaxJump = std::chrono::hours(24);
  // A clock that differs more is trusted after it has run steadily that long. Restarts do not reset
  // this period.
  static constexpr Duration kConfirmation = std::chrono::hours(72);
  // Greatest deviation of a steady clock from the monotonic clock.
  static constexpr Duration kTolerance = std::chrono::minutes(10);

  // `clock` is the system clock, and `monotonic` a clock that is never set. Without `stored`, the
  // clock is trusted.
  TrustedTime(const std::optional<TrustedTimeState>& stored, Timestamp clock, Duration monotonic);

  // Must be called every few minutes.
  void Observe(Timestamp clock, Duration monotonic);

  // Returns nullopt while the clock is not trusted.
  std::optional<Timestamp> now() const;
  // Returns how far the clock is ahead of the trusted time; negative: behind.
  Duration ahead() const { return clock_ - trusted_; }
  // Returns how much longer the clock must run steadily until it is trusted.
  Duration remaining() const { return candidate_ ? kConfirmation - confirmed_ : Duration{}; }
  TrustedTimeState state() const;

 private:
  // A time, and when it was set by the monotonic clock.
  struct Anchor {
    Timestamp time;
    Duration monotonic{};

    Timestamp At(Duration now) const { return WithinBounds(time + (now - monotonic)); }
  };

  Anchor anchor_;  // does not follow the clock, so that many small jumps are not trusted either
  Timestamp trusted_;
  Timestamp clock_;
  std::optional<Anchor> candidate_;
  Duration confirmed_before_{};  // before candidate_ was set: in earlier processes
  Duration confirmed_{};
};

}  // namespace rocescope
