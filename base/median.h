// SPDX-License-Identifier: BSD-3-Clause
// Medians. The functions reorder the values, which must not be empty and must not contain NaN.
#pragma once

#include <algorithm>
#include <ranges>

namespace rocescope {

// For an even number of values, returns the upper of the two middle values, so that the result is
// always one of the values.
template <std::ranges::random_access_range Values>
std::ranges::range_value_t<Values> UpperMedianOf(Values&& values) {
  const auto middle = std::ranges::begin(values) + std::ranges::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

// For an even number of values, returns the mean of the two middle values. For floating-point
// values.
template <std::ranges::random_access_range Values>
std::ranges::range_value_t<Values> MedianOf(Values&& values) {
  const auto upper = UpperMedianOf(values);
  if (std::ranges::ssize(values) % 2 == 1) return upper;
  const auto first = std::ranges::begin(values);
  return (*std::max_element(first, first + std::ranges::ssize(values) / 2) + upper) / 2;
}

}  // namespace rocescope
