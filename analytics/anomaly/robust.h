// SPDX-License-Identifier: BSD-3-Clause
// Medians and spreads that are insensitive to a few outliers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace rocescope {

// Ratio of a normal distribution's standard deviation to its median absolute deviation (MAD).
inline constexpr double kDeviationOfMad = 1.4826;

struct NumberedValue {
  float value = 0;
  size_t number = 0;
};

// Returns the median of all values. Calls `set` with each value's distance from the median of all
// other values, so that a value does not influence its own reference. Requires at least two values;
// reorders them.
template <typename Set>
float FillLeaveOneOut(std::vector<NumberedValue>& values, Set set) {
  const auto [least, most] = std::ranges::minmax(values, {}, &NumberedValue::value);
  if (least.value == most.value) {  // most counters never change
    for (const NumberedValue& one : values) set(one.number, 0.0F);
    return least.value;
  }
  std::ranges::sort(values, {}, &NumberedValue::value);
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

// Spreads of a metric's deviations around 0.
struct Spreads {
  // The spread over all entities, at least `least`: the smallest standard deviation with which the
  // distances of a normal distribution from 0 have 50 %, 90 % and 98 % quantiles that are not below
  // the observed ones. Quantiles limit the effect of rare large values, such as bursts of CE marks.
  double of_all = 0;
  std::vector<float> of_each;  // indexed by entity
};

// Each window contains deviations by entity; NaN values are ignored.
Spreads SpreadsOf(std::span<const std::span<const float>> windows, size_t entities, double least);

}  // namespace rocescope
