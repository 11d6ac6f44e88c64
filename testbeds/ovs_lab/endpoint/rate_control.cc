// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/rate_control.h"

#include <algorithm>
#include <cmath>

namespace rocescope::endpoint {
namespace {

constexpr double kDefaultAdditive = 0.05;  // share of the line rate
constexpr double kDefaultMinimum = 0.02;

}  // namespace

RateControl::RateControl(const DcqcnOptions& options, double line_rate)
    : options_(options),
      line_rate_(line_rate),
      additive_(options.additive > 0 ? options.additive : kDefaultAdditive * line_rate),
      minimum_(
          std::min(line_rate, options.minimum > 0 ? options.minimum : kDefaultMinimum * line_rate)),
      rate_(line_rate),
      target_(line_rate) {}

double RateControl::RateAt(Timestamp now) {
  CatchUp(now);
  return rate_;
}

void RateControl::ReceiveCnp(Timestamp now) {
  if (!options_.enabled) return;
  CatchUp(now);
  if (!active_) {
    active_ = true;
    alpha_ = 1;
    cnp_in_interval_ = false;
    next_alpha_ = now + options_.alpha_timer;
    Cut(now);
    return;
  }
  CatchUpAlpha(now);
  cnp_in_interval_ = true;
  if (now >= next_cut_) {
    Cut(now);
  } else {
    cut_pending_ = true;
  }
}

// Applies all cuts and raises that were due, in their order.
void RateControl::CatchUp(Timestamp now) {
  while (active_) {
    const bool cut = cut_pending_ && next_cut_ <= next_raise_;
    const Timestamp next = cut ? next_cut_ : next_raise_;
    if (next > now) return;
    if (cut) {
      CatchUpAlpha(next);
      Cut(next);
    } else {
      next_raise_ += options_.rate_timer;
      Raise();
    }
  }
}

// The first interval since the last update counts the received CNPs; the others had none.
void RateControl::CatchUpAlpha(Timestamp now) {
  if (next_alpha_ > now) return;
  const int64_t intervals = (now - next_alpha_) / options_.alpha_timer + 1;
  alpha_ *= std::pow(1 - options_.g, static_cast<double>(intervals));
  if (cnp_in_interval_) {
    alpha_ += options_.g * std::pow(1 - options_.g, static_cast<double>(intervals - 1));
  }
  cnp_in_interval_ = false;
  next_alpha_ += intervals * options_.alpha_timer;
}

void RateControl::Cut(Timestamp now) {
  cut_pending_ = false;
  target_ = rate_;
  rate_ = std::max(minimum_, rate_ * (1 - alpha_ / 2));
  raises_ = 0;
  next_cut_ = now + options_.decrease_interval;
  next_raise_ = now + options_.rate_timer;
}

void RateControl::Raise() {
  if (++raises_ > options_.fast_recovery) target_ = std::min(line_rate_, target_ + additive_);
  rate_ = (rate_ + target_) / 2;
  constexpr double kAlmost = 0.999;
  if (rate_ < kAlmost * line_rate_) return;
  rate_ = target_ = line_rate_;
  active_ = cut_pending_;
}

}  // namespace rocescope::endpoint
