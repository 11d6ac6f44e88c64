// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/series.h"

#include <cmath>

namespace rocescope::sim {
namespace {

// Neighbouring points of a query are usually within this distance of the previous query's.
constexpr size_t kNear = 32;

}  // namespace

void Series::Add(SimTime time, double value) {
  if (!points_.empty()) {
    Point& last = points_.back();
    if (time <= last.time) {
      last.value = std::max(last.value, value);
      return;
    }
    // While nothing happens, the last point moves.
    if (value == last.value && points_.size() > 1 && points_[points_.size() - 2].value == value) {
      last.time = time;
      return;
    }
  }
  points_.push_back({time, value});
}

void Series::CutAt(SimTime time) {
  if (points_.empty() || points_.back().time <= time) return;
  const double value = At(time);
  while (!points_.empty() && points_.back().time >= time) points_.pop_back();
  points_.push_back({time, value});
}

double Series::At(SimTime time, size_t& hint) const {
  if (points_.empty() || time < points_.front().time) return 0;
  if (time >= points_.back().time) return points_.back().value;
  size_t at = std::min(hint, points_.size() - 2);
  size_t steps = 0;
  while (points_[at].time > time && steps < kNear) --at, ++steps;
  while (points_[at + 1].time <= time && steps < kNear) ++at, ++steps;
  if (points_[at].time > time || points_[at + 1].time <= time) {
    const auto above =
        std::upper_bound(points_.begin(), points_.end(), time,
                         [](SimTime t, const Point& point) { return t < point.time; });
    at = static_cast<size_t>(above - points_.begin()) - 1;
  }
  hint = at;
  const Point& a = points_[at];
  const Point& b = points_[at + 1];
  return a.value + (b.value - a.value) * static_cast<double>(time - a.time) /
                       static_cast<double>(b.time - a.time);
}

}  // namespace rocescope::sim
