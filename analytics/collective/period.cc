// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/period.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace rocescope {
namespace {

constexpr size_t kShortest = 6;    // slots: shorter periods are indistinguishable from noise
constexpr size_t kFewest = 3;      // repetitions
constexpr double kMinPeak = 0.2;   // minimum correlation at a period
constexpr double kMinMean = 0.15;  // minimum correlation over its multiples
constexpr double kNotMuchWeaker = 0.6;
constexpr double kAsGood = 0.8;     // a shorter period is preferred if it is nearly as good
constexpr double kBlur = 1.0 / 32;  // tolerated jitter as a fraction of a period
constexpr double kFewMultiples = 4;
// Tolerated drift from one multiple to the next, as a fraction of a period.
constexpr double kDrift = 0.03;

// Pearson autocorrelation of a series.
class Correlation {
 public:
  Correlation(std::span<const Bits* const> series, size_t length)
      : series_(series), length_(length) {
    for (const Bits* one : series) counts_.emplace_back(*one);
  }

  double At(size_t lag) const {
    const auto n = static_cast<double>(length_ - lag);
    double covariance = 0;
    double variance = 0;
    for (size_t s = 0; s < series_.size(); ++s) {
      const double early = static_cast<double>(counts_[s].Before(length_ - lag)) / n;
      const double late =
          static_cast<double>(counts_[s].Before(length_) - counts_[s].Before(lag)) / n;
      covariance += static_cast<double>(series_[s]->CountRepeated(lag)) / n - early * late;
      variance += std::sqrt(early * (1 - early) * late * (1 - late));
    }
    return variance > 0 ? covariance / variance : 0;
  }

 private:
  std::span<const Bits* const> series_;
  size_t length_;
  std::vector<BitCounts> counts_;
};

// Follows a period over its multiples: each peak is searched near the place extrapolated from the
// previous ones. Returns the correlation there, and the period as far as it is visible.
template <typename At>
Period Follow(double period, size_t longest, const At& at) {
  double sum = 0;
  int multiples = 0;
  double intervals = period;
  double weight = 0;
  double weighted = 0;
  for (int k = 1;; ++k) {
    const double expected = intervals * k;
    const double slack = std::max(1.0, kDrift * intervals * std::sqrt(k));
    const auto from = static_cast<size_t>(std::max(1.0, std::ceil(expected - slack)));
    const auto to = static_cast<size_t>(std::floor(expected + slack));
    if (to > longest) break;
    size_t best = from;
    double most = -1;
    for (size_t lag = from; lag <= to; ++lag) {
      const double here = at(lag);
      if (here > most) {
        most = here;
        best = lag;
      }
    }
    sum += most;
    ++multiples;
    if (most > 0) {  // longer lags determine the period more precisely
      weight += most * k * k;
      weighted += most * k * static_cast<double>(best);
      intervals = weighted / weight;
    }
  }
  if (multiples == 0) return {};
  return {.intervals = intervals, .strength = sum / multiples};
}

// Jitter accumulates, so after many iterations a burst has moved. Candidates are therefore selected
// by their first few multiples and compared up to the same lag: a repetition within bursts looks
// good for a few multiples and disappears after the end of the burst.
class PeriodSearch {
 public:
  PeriodSearch(std::span<const Bits* const> series, size_t length) : longest_(length * 2 / 3) {
    if (series.empty() || length / kFewest < kShortest) return;
    const Correlation correlation(series, length);
    by_lag_.resize(longest_ + 1);
    for (size_t lag = 1; lag <= longest_; ++lag) by_lag_[lag] = correlation.At(lag);
    for (size_t lag = kShortest; lag <= length / kFewest; ++lag) {
      const size_t around = std::max<size_t>(2, lag / 16);
      const auto begin = by_lag_.begin() + static_cast<std::ptrdiff_t>(lag - around);
      const auto end =
          by_lag_.begin() + static_cast<std::ptrdiff_t>(std::min(longest_, lag + around));
      const double here = by_lag_[lag];
      if (here < kMinPeak || *std::max_element(begin, end + 1) > here) continue;
      const auto at = static_cast<double>(lag);
      const Period period = FollowTo(at, at * (kFewMultiples + 0.5));
      if (period.strength >= kMinMean) found_.push_back(period);
    }
  }

  std::optional<Period> Best() const {
    if (found_.empty()) return std::nullopt;
    const double strongest = std::ranges::max(found_, {}, &Period::strength).strength;
    double farthest = 0;
    for (const Period& period : found_) {
      if (period.strength >= kNotMuchWeaker * strongest) farthest = period.intervals;
    }
    farthest *= kFewMultiples + 0.5;
    double best = 0;
    std::vector<double> far_strength;
    for (const Period& period : found_) {
      far_strength.push_back(FollowTo(period.intervals, farthest).strength);
      best = std::max(best, far_strength.back());
    }
    for (size_t i = 0; i < found_.size(); ++i) {
      if (far_strength[i] >= kAsGood * best) return found_[i];
    }
    return std::nullopt;
  }

  std::vector<Period> Take() { return std::move(found_); }

 private:
  Period FollowTo(double period, double farthest) const {
    return Follow(period, std::min(longest_, static_cast<size_t>(farthest)),
                  [this](size_t lag) { return by_lag_[lag]; });
  }

  size_t longest_;
  std::vector<double> by_lag_;
  std::vector<Period> found_;
};

}  // namespace

Periods FindPeriods(std::span<const Bits* const> series, size_t length) {
  PeriodSearch search(series, length);
  const std::optional<Period> best = search.Best();
  return {.all = search.Take(), .best = best};
}

std::optional<Period> FindPeriod(std::span<const Bits* const> series, size_t length) {
  return PeriodSearch(series, length).Best();
}

double StrengthAt(const Bits& series, size_t length, double period) {
  const Bits wide = series.Widened(static_cast<size_t>(kBlur * period));
  const Bits* const one = &wide;
  const Correlation correlation(std::span(&one, 1), length);
  const auto longest =
      std::min(length * 2 / 3, static_cast<size_t>(period * (kFewMultiples + 0.5)));
  return Follow(period, longest, [&](size_t lag) { return correlation.At(lag); }).strength;
}

}  // namespace rocescope
