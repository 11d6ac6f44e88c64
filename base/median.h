// SPDX-License-Identifier: BSD-3-Clause
// The middle one of several values, which are reordered. There is at least one, and none is NaN.
#pragma once

#include <algorithm>
#include <ranges>

namespace rocescope {

// Of an even number, the upper one of the two in the middle: a value that there is.
template <std::ranges::random_access_range Values>
std::ranges::range_value_t<Values> UpperMedianOf(Values&& values) {
  const auto middle = std::ranges::begin(values) + std::ranges::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Of an even number, the mean of the two in the middle. For floating point.
template <std::ranges::random_access_range Values>
std::ranges::range_value_t<Values> MedianOf(Values&& values) {
  const auto upper = UpperMedianOf(values);
  if (std::ranges::ssize(values) % 2 == 1) return upper;
  const auto first = std::ranges::begin(values);
  return (*std::max_element(first, first + std::ranges::ssize(values) / 2) + upper) / 2;
}

}  // namespace rocescope
