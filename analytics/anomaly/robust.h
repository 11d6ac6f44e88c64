// SPDX-License-Identifier: BSD-3-Clause
// Middles and spreads that a few outliers do not move.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace rocescope {

// A normal distribution's standard deviation, by the median of distances from its median.
inline constexpr double kDeviationOfMad = 1.4826;

struct NumberedValue {
  float value = 0;
  size_t number = 0;
};

// The median of all, and by `set` how far each is from the median of the others: what it would be
// judged by had it not been there. Of at least two; reorders.
template <typename Set>
float FillLeaveOneOut(std::vector<NumberedValue>& values, Set set) {
  std::ranges::sort(values, {},
                    [](const NumberedValue& one) { return std::pair(one.value, one.number); });
  const size_t rest = values.size() - 1;
  for (size_t out = 0; out < values.size(); ++out) {
    const auto at = [&](size_t rank) { return values[rank < out ? rank : rank + 1].value; };
    const float middle = rest % 2 == 1 ? at(rest / 2) : (at(rest / 2 - 1) + at(rest / 2)) / 2;
    set(values[out].number, values[out].value - middle);
  }
  const size_t half = values.size() / 2;
  if (values.size() % 2 == 1) return values[half].value;
  return (values[half - 1].value + values[half].value) / 2;
}

// How far deviations are from 0, by metric: of all entities, and of each.
class SpreadSum {
 public:
  SpreadSum(size_t entities, size_t width) : width_(width), distances_(entities * width) {}

  // By entity and metric; those that are not numbers are left out.
  void Add(std::span<const float> deviations);

  // At least `least`. Of a normal distribution its standard deviation; of one with a longer tail
  // what makes its 90 or 98 % as far as a normal one's: what is rare and large, as a burst of
  // marks, does not drown the rest.
  std::vector<double> OfAll(double least) const;
  std::vector<float> OfEach() const;  // by entity, metric

 private:
  size_t width_;
  std::vector<std::vector<float>> distances_;  // by entity, metric
};

}  // namespace rocescope
