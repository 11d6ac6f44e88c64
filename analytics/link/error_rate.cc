// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/error_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rocescope {
namespace {

constexpr double kStep = 8;  // from one rate to the next

double RateOf(size_t number, double tolerated) {
  return tolerated * std::pow(kStep, static_cast<double>(number + 1));
}

// Logarithm of the probability of a burst in an interval.
double LogOfBurst(double rate, double frames) { return std::log(-std::expm1(-rate * frames)); }

// Logarithm of the greatest probability of this many damaged frames under the null hypothesis.
double LogOfTolerated(uint64_t errors, double frames, double tolerated) {
  if (errors == 0) return 0;
  const auto n = static_cast<double>(errors);
  const double mean = std::min(n, tolerated * frames);
  const double single = n * std::log(mean) - mean - std::lgamma(n + 1);
  const double burst = LogOfBurst(tolerated, frames) +
                       std::log(6 / (std::numbers::pi * std::numbers::pi)) - 2 * std::log(n);
  return std::max(single, burst);
}

// Logarithm of a negative binomial probability. The rate of real damage varies, so that the
// `shape`, which is the inverse of the rate's relative variance, is limited.
double LogOfDamage(uint64_t errors, double mean, double shape) {
  const double log_none = shape * std::log(shape / (shape + mean));
  if (errors == 0) return log_none;
  const auto n = static_cast<double>(errors);
  return std::lgamma(n + shape) - std::lgamma(shape) - std::lgamma(n + 1) + log_none +
         n * std::log(mean / (shape + mean));
}

}  // namespace

void ErrorRateTest::Weigh(const Interval& interval, const ErrorRateOptions& options) {
  constexpr double kPriorErrors = 0.5;
  constexpr double kGreatestShape = 20;
  constexpr double kDay = 86'400e9;  // ns
  constexpr double kOlder = 1.0 / 24;
  const double days =
      static_cast<double>(interval.length.count()) / kDay + (has_begun_ ? 0 : kOlder);
  has_begun_ = true;
  const double start = std::log(days);
  const double tolerated = LogOfTolerated(interval.errors, interval.frames, options.tolerated);
  for (size_t i = 0; i < alternatives_.size(); ++i) {
    Alternative& at = alternatives_[i];
    if (!at.is_possible || at.score < start) at = {.score = start, .is_possible = true};
    const double rate = RateOf(i % kRates, options.tolerated);
    double log_ratio = 0;
    if (i < kRates) {
      const double errors = kPriorErrors + static_cast<double>(at.since.errors);
      const double learnt = errors / (kPriorErrors / rate + at.since.frames);
      log_ratio =
          LogOfDamage(interval.errors, learnt * interval.frames, std::min(errors, kGreatestShape)) -
          tolerated;
    } else if (interval.errors == 0) {
      log_ratio = -rate * interval.frames;
    } else {
      log_ratio =
          LogOfBurst(rate, interval.frames) - LogOfBurst(options.tolerated, interval.frames);
    }
    at.score += log_ratio;
    if (at.since.errors == 0) {
      at.since.from = interval.from;
      at.since.frames = 0;
    }
    at.since.errors += interval.errors;
    at.since.frames += interval.frames;
  }
}

std::optional<ErrorRateTest::Excess> ErrorRateTest::Add(Timestamp from, Timestamp until,
                                                        uint64_t errors, double frames,
                                                        const ErrorRateOptions& options) {
  if (errors == 0) {
    if (undamaged_.length == Duration::zero()) undamaged_.from = from;
    undamaged_.length += until - from;
    undamaged_.frames += frames;
    return std::nullopt;
  }
  if (undamaged_.frames > 0) Weigh(undamaged_, options);
  undamaged_ = {};
  Weigh({.from = from, .length = until - from, .errors = errors, .frames = frames}, options);
  const Alternative& best = *std::ranges::max_element(alternatives_, {}, &Alternative::score);
  const double alarm =
      std::log(static_cast<double>(alternatives_.size())) - std::log(options.alarms_a_day);
  if (best.score < alarm || best.since.errors < kLeastErrors) return std::nullopt;
  const Excess excess = best.since;
  *this = {};
  has_begun_ = true;
  return excess;
}

}  // namespace rocescope
