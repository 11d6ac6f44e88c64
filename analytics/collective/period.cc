// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/period.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rocescope {
namespace {

constexpr size_t kShortest = 6;      // stretches: what is shorter cannot be told from noise
constexpr size_t kFewest = 3;        // repetitions
constexpr double kMinPeak = 0.2;   // of the correlation at a period
constexpr double kMinMean = 0.15;  // over its multiples
constexpr double kNotMuchWeaker = 0.6;
constexpr double kAsGood = 0.8;     // a shorter period is believed if it is nearly as good
constexpr double kBlur = 1.0 / 32;  // of a period: what jitters by so much still is alike
constexpr double kFewMultiples = 4;
constexpr double kDrift = 0.03;  // of a period, from one multiple to the next

// Pearson's correlation of a series with itself, later.
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

// Follows a period over its multiples: each is looked for near where the ones before let expect it.
// Answers what the correlation is there, and the period as long as it is to be seen.
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
    if (most > 0) {  // long lags say more precisely what the period is
      weight += most * k * k;
      weighted += most * k * static_cast<double>(best);
      intervals = weighted / weight;
    }
  }
  if (multiples == 0) return {};
  return {.intervals = intervals, .strength = sum / multiples};
}

}  // namespace

// What jitters adds up: over many iterations a burst is no longer where it was. So candidates are
// taken by their first few multiples, and held against each other up to one and the same lag: a
// rhythm within bursts looks good for a few multiples and is gone behind the burst's end.
std::optional<Period> FindPeriod(std::span<const Bits* const> series, size_t length) {
  const size_t longest = length * 2 / 3;
  if (series.empty() || length / kFewest < kShortest) return std::nullopt;
  const Correlation correlation(series, length);
  std::vector<double> by_lag(longest + 1);
  for (size_t lag = 1; lag <= longest; ++lag) by_lag[lag] = correlation.At(lag);
  const auto follow = [&](double period, double farthest) {
    return Follow(period, std::min(longest, static_cast<size_t>(farthest)),
                  [&](size_t lag) { return by_lag[lag]; });
  };

  std::vector<Period> found;
  for (size_t lag = kShortest; lag <= length / kFewest; ++lag) {
    const size_t around = std::max<size_t>(2, lag / 16);
    const auto begin = by_lag.begin() + static_cast<std::ptrdiff_t>(lag - around);
    const auto end = by_lag.begin() + static_cast<std::ptrdiff_t>(std::min(longest, lag + around));
    const double here = by_lag[lag];
    if (here < kMinPeak || *std::max_element(begin, end + 1) > here) continue;
    const auto at = static_cast<double>(lag);
    const Period period = follow(at, at * (kFewMultiples + 0.5));
    if (period.strength >= kMinMean) found.push_back(period);
  }
  if (found.empty()) return std::nullopt;
  const double strongest = std::ranges::max(found, {}, &Period::strength).strength;
  double farthest = 0;
  for (const Period& period : found) {
    if (period.strength >= kNotMuchWeaker * strongest) farthest = period.intervals;
  }
  farthest *= kFewMultiples + 0.5;
  double best = 0;
  std::vector<double> far_strength;
  for (const Period& period : found) {
    far_strength.push_back(follow(period.intervals, farthest).strength);
    best = std::max(best, far_strength.back());
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (far_strength[i] >= kAsGood * best) return found[i];
  }
  return std::nullopt;
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
