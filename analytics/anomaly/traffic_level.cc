// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/traffic_level.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "analytics/anomaly/robust.h"
#include "base/median.h"

namespace rocescope {
namespace {

constexpr double kLevelGrain = 1e6;  // bytes/s

}  // namespace

float LevelOfRate(double bytes_per_second) {
  return static_cast<float>(std::log1p(bytes_per_second / kLevelGrain));
}

double RateOfLevel(float level) { return std::expm1(static_cast<double>(level)) * kLevelGrain; }

bool LevelStep::Returned() const {
  return previous && std::abs(after - *previous) <= previous_margin;
}

std::optional<LevelStep> TrafficLevel::Add(int64_t window, float level) {
  if (stepped_) reached_ = last_up_ ? std::max(reached_, level) : std::min(reached_, level);
  if (!stepped_ && count_ < kSettled) {
    Keep(level);
    return std::nullopt;
  }
  const float median = count_ == 0 ? step_level_ : Median();
  const float margin = Margin(median);
  const bool is_usual = std::abs(level - median) <= margin;
  // The first windows of a change may contain only a part of it.
  const bool is_ramp = count_ < kSettled && !is_usual && (level > median) == last_up_;
  if (is_ramp) count_ = next_ = 0;
  if (is_usual || is_ramp) {
    outside_ = 0;
    Keep(level);
    return std::nullopt;
  }
  const bool up = level > median;
  if (outside_ == 0 || outside_up_ != up) {
    outside_ = 0;
    outside_up_ = up;
    outside_since_ = window;
  }
  if (++outside_ < kConfirm) return std::nullopt;
  const LevelStep step{
      .onset = outside_since_,
      .up = up,
      .before = median,
      .after = level,
      .settled = count_,
      .previous = stepped_ ? std::optional(previous_) : std::nullopt,
      .previous_margin = std::max(previous_margin_, kLeastStep),
  };
  stepped_ = true;
  last_up_ = up;
  previous_ = median;
  previous_margin_ = margin;
  reached_ = level;
  step_level_ = level;
  outside_ = 0;
  count_ = next_ = 0;
  return step;
}

void TrafficLevel::Keep(float level) {
  levels_[next_] = level;
  next_ = static_cast<uint8_t>((next_ + 1) % kKept);
  count_ = static_cast<uint8_t>(std::min<size_t>(count_ + size_t{1}, kKept));
}

float TrafficLevel::Median() const {
  std::array<float, kKept> values = levels_;
  return MedianOf(std::span(values).first(count_));
}

float TrafficLevel::Margin(float median) const {
  // Too few windows show no spread: assume that of the level before.
  if (count_ < kSettled) return previous_margin_;
  std::array<float, kKept> values = levels_;
  const auto known = std::span(values).first(count_);
  for (float& one : known) one = std::abs(one - median);
  return std::max(kLeastStep, kDeviations * static_cast<float>(kDeviationOfMad) * MedianOf(known));
}

}  // namespace rocescope
