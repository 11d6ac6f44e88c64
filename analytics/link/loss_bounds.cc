// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/loss_bounds.h"

#include <algorithm>
#include <ranges>

namespace rocescope {
namespace {

int64_t Difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }

}  // namespace

void LossBounds::AtLeast(const CounterMoment& sent, const CounterMoment& received) {
  const int64_t difference = Difference(sent.least, received.most);
  if (!least_ || difference > *least_) {
    least_ = difference;
    least_until_ = received.until;
  }
  if (most_ && *least_ > *most_) lost_ = static_cast<uint64_t>(*least_ - *most_);
}

void LossBounds::AtMost(const CounterMoment& sent, const CounterMoment& received) {
  const int64_t difference = Difference(sent.most, received.least);
  latest_most_ = difference;
  latest_received_ = received.least;
  if (!most_ || difference <= *most_) {
    most_ = difference;
    intact_ = {.until = received.until, .sent = sent.least};
  }
  // The difference never decreases.
  if (least_ && difference < *least_ && received.after >= least_until_) {
    surplus_ = std::max(surplus_, static_cast<uint64_t>(*least_ - difference));
  }
  if (least_ && *least_ > *most_) lost_ = static_cast<uint64_t>(*least_ - *most_);
}

void LossBounds::AddSent(const CounterMoment& sent, Duration slack) {
  const auto older = std::ranges::find_if(std::views::reverse(received_), [&](const auto& other) {
    return other.until + slack <= sent.after;
  });
  if (older != received_.rend()) AtMost(sent, *older);
  const auto newer = std::ranges::find_if(
      received_, [&](const auto& other) { return sent.until + slack <= other.after; });
  if (newer != received_.end()) AtLeast(sent, *newer);
  sent_.push_back(sent);
  if (sent_.size() > kMoments) sent_.pop_front();
}

void LossBounds::AddReceived(const CounterMoment& received, Duration slack) {
  const auto older = std::ranges::find_if(std::views::reverse(sent_), [&](const auto& other) {
    return other.until + slack <= received.after;
  });
  if (older != sent_.rend()) AtLeast(*older, received);
  const auto newer = std::ranges::find_if(
      sent_, [&](const auto& other) { return received.until + slack <= other.after; });
  if (newer != sent_.end()) AtMost(*newer, received);
  received_.push_back(received);
  if (received_.size() > kMoments) received_.pop_front();
}

void LossBounds::Restart() { *this = {}; }

std::optional<LossBounds::Uncertainty> LossBounds::uncertainty() const {
  if (!least_ || !latest_most_) return std::nullopt;
  return Uncertainty{.frames = static_cast<uint64_t>(std::max<int64_t>(0, *latest_most_ - *least_)),
                     .received = latest_received_};
}

}  // namespace rocescope
