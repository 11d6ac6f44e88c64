// SPDX-License-Identifier: BSD-3-Clause
// Rows of what happened window by window: ascending, gaps left out, the oldest forgotten.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocescope {

// Windows that a row remembers.
inline constexpr size_t kMaxWindows = 256;

// The entry of a window, made if there is none; null if the row is full of later ones. T has a
// member int64_t window, the number since the epoch.
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
