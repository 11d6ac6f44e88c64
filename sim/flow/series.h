// SPDX-License-Identifier: BSD-3-Clause
// A quantity that never decreases, as a function of simulated time: linear between its points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/time.h"

namespace rocescope::sim {

class Series {
 public:
  struct Point {
    SimTime time;
    double value;
  };

  // `time` and `value` must not decrease. While the value stays the same, the last point moves
  // instead of a new one being added.
  void Add(SimTime time, double value);

  // Drops what was added for later times: the value stays as it is at `time`.
  void CutAt(SimTime time);

  // Adds a point after the last one without merging.
  void Append(Point point) { points_.push_back(point); }
  void Shrink() { points_.shrink_to_fit(); }
  void Reserve(size_t points) { points_.reserve(points); }

  bool empty() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  // Returns 0 before the first point and the last value after the last point. `hint` speeds up
  // queries at similar times; it starts at 0 and belongs to the caller.
  double At(SimTime time, size_t& hint) const;
  double At(SimTime time) const {
    size_t hint = 0;
    return At(time, hint);
  }

 private:
  std::vector<Point> points_;
};

// Rounds down, but tolerates rounding errors of sums: 4.9999999 is 5.
inline int64_t WholeCount(double value) {
  constexpr double kTiny = 1e-6;
  return static_cast<int64_t>(std::floor(value + kTiny));
}

}  // namespace rocescope::sim
