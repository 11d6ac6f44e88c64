// SPDX-License-Identifier: BSD-3-Clause
// A bounded series of values, one for each time window, in ascending order without the empty
// windows. When the series is full, the oldest window is evicted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocescope {

// Maximum number of windows in a series.
inline constexpr size_t kMaxWindows = 256;

// Returns the entry of `window` and creates it if necessary. Returns null if the series is full and
// all its windows are later. T has a member `int64_t window`, the window's number since the epoch.
template <typename T>
T* EntryOf(std::vector<T>& row, int64_t window) {
  auto at = std::ranges::lower_bound(row, window, {}, &T::window);
  if (at != row.end() && at->window == window) return &*at;
  if (row.size() >= kMaxWindows) {
    if (at == row.begin()) return nullptr;
    const auto place = at - row.begin() - 1;
    at = row.erase(row.begin()) + place;
  }
  T entry{};
  entry.window = window;
  return &*row.insert(at, entry);
}

}  // namespace rocescope
