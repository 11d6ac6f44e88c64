// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host/dcqcn.h"

#include <algorithm>
#include <cmath>

namespace rocescope::sim {

Dcqcn::Dcqcn(Engine& engine, const DcqcnOptions& options, double line_rate)
    : engine_(engine),
      options_(options),
      line_rate_(line_rate),
      rate_(line_rate),
      target_(line_rate),
      cut_timer_(engine, *this),
      rate_timer_(engine, *this) {}

void Dcqcn::ReceiveCnp() {
  if (!options_.enabled) return;
  const SimTime now = engine_.Now();
  if (!notified_) {
    notified_ = true;
    alpha_ = 1;
    next_alpha_ = now + options_.alpha_timer;
    // Behind alpha's tick where both fall together.
    next_cut_ = now + options_.decrease_interval + kNanosecond;
    target_ = rate_ = options_.first_cut * rate_;
  } else {
    CatchUpAlpha(now);
    alpha_notified_ = true;
    if (next_cut_ <= now) {
      const SimTime missed = (now - next_cut_) / options_.decrease_interval + 1;
      next_cut_ += missed * options_.decrease_interval;
    }
  }
  if (!cut_timer_.armed()) cut_timer_.Arm(next_cut_);
}

// Ticks since the last one: the first of them knows of notifications, the others of none.
void Dcqcn::CatchUpAlpha(SimTime now) {
  if (next_alpha_ > now) return;
  const SimTime ticks = (now - next_alpha_) / options_.alpha_timer + 1;
  alpha_ *= std::pow(1 - options_.g, static_cast<double>(ticks));
  if (alpha_notified_) {
    alpha_ += options_.g * std::pow(1 - options_.g, static_cast<double>(ticks - 1));
  }
  alpha_notified_ = false;
  next_alpha_ += ticks * options_.alpha_timer;
}

void Dcqcn::Cut() {
  const SimTime now = engine_.Now();
  CatchUpAlpha(now);
  next_cut_ = now + options_.decrease_interval;
  if (options_.clamp_target || time_stage_ != 0 || byte_stage_ != 0) target_ = rate_;
  rate_ = std::max(options_.minimum, rate_ * (1 - alpha_ / 2));
  time_stage_ = 0;
  byte_stage_ = 0;
  bytes_ = 0;
  rate_timer_.Arm(now + options_.rate_timer);
}

void Dcqcn::RaiseByTime() {
  Raise();
  ++time_stage_;
  if (rate_ < line_rate_ || target_ < line_rate_) {
    rate_timer_.Arm(engine_.Now() + options_.rate_timer);
  }
}

void Dcqcn::CountSent(uint64_t bytes) {
  if (options_.byte_counter == 0 || rate_ >= line_rate_) return;
  bytes_ += bytes;
  if (bytes_ < options_.byte_counter) return;
  bytes_ -= options_.byte_counter;
  Raise();
  ++byte_stage_;
}

void Dcqcn::Raise() {
  const bool counts = options_.byte_counter != 0;
  const uint32_t most = counts ? std::max(time_stage_, byte_stage_) : time_stage_;
  const uint32_t least = counts ? std::min(time_stage_, byte_stage_) : time_stage_;
  if (most >= options_.fast_recovery) {
    target_ += least > options_.fast_recovery ? options_.hyper : options_.additive;
    target_ = std::min(target_, line_rate_);
  }
  rate_ = std::min(line_rate_, (rate_ + target_) / 2);
}

}  // namespace rocescope::sim
