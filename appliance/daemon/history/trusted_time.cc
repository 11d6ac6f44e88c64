// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/trusted_time.h"

#include <algorithm>
#include <chrono>

namespace rocescope {
namespace {

bool Agree(Timestamp a, Timestamp b, Duration most) { return std::chrono::abs(a - b) <= most; }

}  // namespace

TrustedTime::TrustedTime(const std::optional<TrustedTimeState>& stored, Timestamp clock,
                         Duration monotonic)
    : anchor_{.time = WithinBounds(clock), .monotonic = monotonic} {
  if (stored) {
    const Timestamp trusted = WithinBounds(stored->trusted);
    if (!Agree(anchor_.time, trusted, kMaxJump)) {
      if (stored->candidate) {
        const Duration off = anchor_.time - WithinBounds(*stored->candidate);
        if (off >= -kTolerance && off <= kMaxJump) {
          candidate_ = anchor_;
          confirmed_before_ = std::clamp(stored->confirmed, Duration{}, kConfirmation);
        }
      }
      anchor_.time = trusted;
    }
  }
  Observe(clock, monotonic);
}

void TrustedTime::Observe(Timestamp clock, Duration monotonic) {
  clock_ = WithinBounds(clock);
  const Timestamp expected = anchor_.At(monotonic);
  if (Agree(clock_, expected, kMaxJump)) {
    trusted_ = clock_;
    candidate_.reset();
    return;
  }
  trusted_ = expected;
  if (!candidate_ || !Agree(clock_, candidate_->At(monotonic), kTolerance)) {
    candidate_ = {.time = clock_, .monotonic = monotonic};
    confirmed_before_ = {};
  }
  confirmed_ = confirmed_before_ + (monotonic - candidate_->monotonic);
  if (confirmed_ < kConfirmation) return;
  anchor_ = {.time = clock_, .monotonic = monotonic};
  trusted_ = clock_;
  candidate_.reset();
}

std::optional<Timestamp> TrustedTime::now() const {
  return candidate_ ? std::nullopt : std::optional(trusted_);
}

TrustedTimeState TrustedTime::state() const {
  if (!candidate_) return {.trusted = trusted_};
  return {.trusted = trusted_, .candidate = clock_, .confirmed = confirmed_};
}

}  // namespace rocescope
