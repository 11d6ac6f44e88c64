// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/series.h"

#include <algorithm>
#include <limits>

namespace rocescope {
namespace {

// A reading's timestamp may be late by this many windows, while the previous one is not.
constexpr double kLateWindows = 1;

// A counter reported as 64 bits wide may be narrower. It is assumed to have wrapped if it was in
// the last part of its range, and to have been reset otherwise.
constexpr uint64_t kPartBeforeWrap = 16;

bool IsPossible(uint64_t step, double most) { return static_cast<double>(step) <= most; }

std::optional<uint64_t> Wrapped(uint64_t before, uint64_t now, uint8_t bits, double most) {
  if (bits > 0 && bits < 64) {
    const uint64_t range = uint64_t{1} << bits;
    const uint64_t step = (range - before % range + now) % range;
    if (step < range / 2 && IsPossible(step, most)) return step;
    return std::nullopt;
  }
  if (most == std::numeric_limits<double>::infinity()) return std::nullopt;
  constexpr uint64_t kNarrow = uint64_t{1} << 32;
  if (before < kNarrow) {
    const uint64_t step = kNarrow - before + now;
    if (step <= kNarrow / kPartBeforeWrap && IsPossible(step, most)) return step;
    return std::nullopt;
  }
  const uint64_t step = now - before;  // modulo 2^64
  if (step <= UINT64_MAX / kPartBeforeWrap && IsPossible(step, most)) return step;
  return std::nullopt;
}

// Returns the increment of a counter, if it is possible.
std::optional<uint64_t> StepOf(uint64_t before, uint64_t now, Duration between,
                               const CounterLimits& limits, Duration width) {
  const double most = limits.most_a_ns * (static_cast<double>(between.count()) +
                                          kLateWindows * static_cast<double>(width.count()));
  if (now < before) return Wrapped(before, now, limits.bits, most);
  return IsPossible(now - before, most) ? std::optional(now - before) : std::nullopt;
}

void AddWindows(int64_t first, int64_t last, std::vector<int64_t>& windows) {
  constexpr auto kMost = static_cast<int64_t>(MetricSeries::kMaxWindows);
  if (!windows.empty()) first = std::max(first, windows.back() + 1);
  for (int64_t window = std::max(first, last - kMost + 1); window <= last; ++window) {
    windows.push_back(window);
  }
  if (windows.size() > MetricSeries::kMaxWindows) {
    windows.erase(windows.begin(), windows.end() - kMost);
  }
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
  if (windows_.size() <= kMaxWindows) return windows_[static_cast<size_t>(place)];
  windows_.erase(windows_.begin());
  return windows_[static_cast<size_t>(std::max<std::ptrdiff_t>(place - 1, 0))];
}

// The increment over a long silence is distributed only over the last windows, because older ones
// would be dropped at once.
void MetricSeries::Grow(Timestamp from, Timestamp until, uint64_t by, Duration width) {
  const int64_t last = NumberOfWindow(until - Duration(1), width);
  const int64_t first =
      std::clamp(NumberOfWindow(from, width), last - static_cast<int64_t>(kMaxWindows) + 1, last);
  const auto count = static_cast<uint64_t>(last - first + 1);
  for (int64_t window = first; window <= last; ++window) {
    const auto number = static_cast<uint64_t>(window - first);
    const uint64_t share = by / count + (number < by % count ? 1 : 0);
    if (share > 0) At(window).value += share;
  }
}

void MetricSeries::Doubt(Timestamp from, Timestamp until, Duration width) {
  AddWindows(NumberOfWindow(from, width), NumberOfWindow(until - Duration(1), width), unknown_);
}

bool MetricSeries::IsKnown(int64_t window) const {
  return !std::ranges::binary_search(unknown_, window);
}

// Accepts an increment from the previous reading.
void MetricSeries::Take(Timestamp time, uint64_t value, uint64_t step, Duration width) {
  if (fall_ && (step > 0 || --fall_->readings == 0)) {
    // The counter returned to its old value at once: it never decreased.
    if (step > 0 && value >= fall_->from) {
      Doubt(fall_->time, time, width);
      step = value - fall_->from;
    }
    fall_.reset();
  }
  total_ += step;
  if (step > 0) Grow(last_time_, time, step, width);
  AddWindows(NumberOfWindow(last_time_ - Duration(1), width) + 1,
             NumberOfWindow(time - Duration(1), width) - 1, skipped_);
  last_ = value;
  last_gap_ = time - last_time_;
  last_time_ = last_reading_ = time;
}

ReadingFate MetricSeries::AddCounter(Timestamp time, uint64_t value, const CounterLimits& limits,
                                     Duration width) {
  if (!last_) {
    first_time_ = last_time_ = last_reading_ = time;
    last_ = value;
    return ReadingFate::kTaken;
  }
  if (time <= last_reading_) {
    const bool again = time == last_reading_ && value == (doubtful_ ? doubtful_->value : *last_);
    return again ? ReadingFate::kTaken : ReadingFate::kLate;
  }
  if (const auto step = StepOf(*last_, value, time - last_time_, limits, width)) {
    if (doubtful_) Doubt(doubtful_->time, time, width);
    doubtful_.reset();
    Take(time, value, *step, width);
    return ReadingFate::kTaken;
  }
  if (doubtful_) {
    if (const auto step = StepOf(doubtful_->value, value, time - doubtful_->time, limits, width)) {
      constexpr uint8_t kReadings = 3;
      fall_ =
          doubtful_->value < *last_
              ? std::optional(Fall{.from = *last_, .time = doubtful_->time, .readings = kReadings})
              : std::nullopt;
      last_ = doubtful_->value;
      last_time_ = doubtful_->time;
      doubtful_.reset();
      Take(time, value, *step, width);
      return ReadingFate::kTaken;
    }
  }
  Doubt(last_reading_, time, width);
  doubtful_ = {.time = time, .value = value};
  last_reading_ = time;
  ++restarts_;
  return value < *last_ ? ReadingFate::kBackwards : ReadingFate::kImpossible;
}

ReadingFate MetricSeries::AddGauge(Timestamp time, uint64_t value, Duration width) {
  if (last_ && time < last_reading_) return ReadingFate::kLate;
  if (!last_) first_time_ = time;
  last_ = value;
  last_time_ = last_reading_ = time;
  if (value != 0) was_ever_nonzero_ = true;
  // A gauge read at the end of a window belongs to that window, like a counter's increment.
  WindowValue& at = At(NumberOfWindow(time - Duration(1), width));
  at.value = std::max(at.value, value);
  return ReadingFate::kTaken;
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
