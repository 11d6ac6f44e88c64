// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/poisson.h"

#include <cmath>

namespace rocescope {
namespace {

constexpr double kNegligible = 1e-17;  // relative to the sum

double LogProbability(double count, double mean) {
  return count * std::log(mean) - mean - std::lgamma(count + 1);
}

// Probability of at most `count` events, for a mean above `count`: the terms decrease towards 0
// events.
double AtMost(double count, double mean) {
  double term = std::exp(LogProbability(count, mean));
  double sum = term;
  for (double k = count; k > 0 && term > sum * kNegligible; --k) {
    term *= k / mean;
    sum += term;
  }
  return sum;
}

// Probability of at least `count` events, for a mean below `count`: the terms decrease upwards.
double AtLeast(double count, double mean) {
  double term = std::exp(LogProbability(count, mean));
  double sum = term;
  for (double k = count + 1; term > sum * kNegligible; ++k) {
    term *= mean / k;
    sum += term;
  }
  return sum;
}

// Both tails are monotone in the mean; the bracket shrinks to the precision of a double.
template <typename IsBelow>
double Bisect(double low, double high, IsBelow is_below) {
  constexpr int kSteps = 100;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (low + high) / 2;
    (is_below(middle) ? low : high) = middle;
  }
  return (low + high) / 2;
}

double UpperBound(uint64_t count, double tail) {
  const auto counted = static_cast<double>(count);
  // The bound of 0 events at the smallest tail used is 3.7, and the distance grows like the square
  // root of the count.
  const double most = counted + 10 * std::sqrt(counted + 1) + 10;
  return Bisect(counted, most, [&](double mean) { return AtMost(counted, mean) > tail; });
}

double LowerBound(uint64_t count, double tail) {
  if (count == 0) return 0;
  const auto counted = static_cast<double>(count);
  return Bisect(0, counted, [&](double mean) { return AtLeast(counted, mean) < tail; });
}

}  // namespace

Interval PoissonInterval(uint64_t count) {
  constexpr double kTail = 0.025;
  return {.low = LowerBound(count, kTail), .high = UpperBound(count, kTail)};
}

double PoissonUpperBound(uint64_t count) {
  constexpr double kTail = 0.05;
  return UpperBound(count, kTail);
}

}  // namespace rocescope
