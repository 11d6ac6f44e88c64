// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/series.h"

#include <algorithm>

namespace rocescope {
namespace {

// How far a counter of so many bits came, if it may have wrapped: a step of more than half its
// range was none.
std::optional<uint64_t> StepOf(uint64_t before, uint64_t now, uint8_t bits) {
  if (now >= before) return now - before;
  if (bits == 0 || bits >= 64) return std::nullopt;
  const uint64_t range = uint64_t{1} << bits;
  const uint64_t step = (range - before % range + now) % range;
  return step < range / 2 ? std::optional(step) : std::nullopt;
}

}  // namespace

int64_t NumberOfWindow(Timestamp time, Duration width) {
  const int64_t since = ToNanoseconds(time);
  const int64_t length = width.count();
  return since >= 0 ? since / length : (since - length + 1) / length;
}

WindowValue& MetricSeries::At(int64_t window) {
  const auto at = std::ranges::lower_bound(windows_, window, {}, &WindowValue::window);
  if (at != windows_.end() && at->window == window) return *at;
  const auto place = at - windows_.begin();
  windows_.insert(at, {.window = window});
  if (windows_.size() <= kMostWindows) return windows_[static_cast<size_t>(place)];
  windows_.erase(windows_.begin());
  return windows_[static_cast<size_t>(std::max<std::ptrdiff_t>(place - 1, 0))];
}

// A long silence is shared out over the last windows alone: older ones would give way at once.
void MetricSeries::Grow(Timestamp from, Timestamp until, uint64_t by, Duration width) {
  const int64_t last = NumberOfWindow(until - Duration(1), width);
  const int64_t first =
      std::clamp(NumberOfWindow(from, width), last - static_cast<int64_t>(kMostWindows) + 1, last);
  const auto count = static_cast<uint64_t>(last - first + 1);
  for (int64_t window = first; window <= last; ++window) {
    const auto number = static_cast<uint64_t>(window - first);
    const uint64_t share = by / count + (number < by % count ? 1 : 0);
    if (share > 0) At(window).value += share;
  }
}

void MetricSeries::AddCounter(Timestamp time, uint64_t value, uint8_t bits, Duration width) {
  if (!last_) {
    first_time_ = last_time_ = time;
    last_ = value;
    return;
  }
  if (time <= last_time_) return;
  const std::optional<uint64_t> step = StepOf(*last_, value, bits);
  if (!step) {
    ++restarts_;
  } else if (*step > 0) {
    Grow(last_time_, time, *step, width);
  }
  last_ = value;
  last_time_ = time;
}

void MetricSeries::AddGauge(Timestamp time, uint64_t value, Duration width) {
  if (last_ && time < last_time_) return;
  if (!last_) first_time_ = time;
  last_ = value;
  last_time_ = time;
  // What is read at a window's end tells of that window, as a counter's growth does.
  WindowValue& at = At(NumberOfWindow(time - Duration(1), width));
  at.value = std::max(at.value, value);
}

uint64_t MetricSeries::Sum(int64_t from, int64_t until) const {
  uint64_t sum = 0;
  for (const WindowValue& one : windows_) {
    if (one.window >= from && one.window < until) sum += one.value;
  }
  return sum;
}

uint64_t MetricSeries::Highest(int64_t from, int64_t until) const {
  uint64_t highest = 0;
  for (const WindowValue& one : windows_) {
    if (one.window >= from && one.window < until) highest = std::max(highest, one.value);
  }
  return highest;
}

}  // namespace rocescope
