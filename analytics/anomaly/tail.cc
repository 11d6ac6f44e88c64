// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/tail.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace rocescope {
namespace {

constexpr double kBeyond = 0.1;  // share of the scores in the tail
// The tail decays as slowly as the slowest fit from its start to one of these quantiles.
constexpr std::array<double, 2> kFitted = {0.04, 0.015};
// The tail never decays faster than for scores with this spread.
constexpr double kMinSlope = 0.25;

}  // namespace

double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

Tail::Tail(std::vector<double> scores) : scores_(std::move(scores)) {
  if (scores_.empty()) return;
  std::ranges::sort(scores_);
  threshold_ = Quantile(scores_, 1 - kBeyond);
  slope_ = kMinSlope;
  for (const double rest : kFitted) {
    const double rise = Quantile(scores_, 1 - rest) - threshold_;
    slope_ = std::max(slope_, rise / std::log(kBeyond / rest));
  }
}

double Tail::Probability(double score) const {
  if (scores_.empty()) return 1;
  if (score > threshold_) {
    const double probability = kBeyond * std::exp((threshold_ - score) / slope_);
    return std::max(probability, std::numeric_limits<double>::min());
  }
  const auto at = std::ranges::lower_bound(scores_, score);
  const auto above = static_cast<double>(scores_.end() - at);
  return std::max(above / static_cast<double>(scores_.size()), kBeyond);
}

}  // namespace rocescope
