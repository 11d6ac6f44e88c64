// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/series.h"

#include <algorithm>
#include <bit>
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
                               const CounterLimits& limits, const WindowWidth& width) {
  const double most =
      limits.most_a_ns * (static_cast<double>(between.count()) +
                          kLateWindows * static_cast<double>(width.duration().count()));
  if (now < before) return Wrapped(before, now, limits.bits, most);
  return IsPossible(now - before, most) ? std::optional(now - before) : std::nullopt;
}

// Vectors of windows may exceed kMaxWindows by this many, so that the oldest ones are seldom
// erased.
constexpr size_t kSlack = 64;

// Makes sure that one more window fits.
template <typename Windows>
void MakeRoom(Windows& windows) {
  constexpr size_t kCapacity = MetricSeries::kMaxWindows + kSlack;
  if (windows.size() < windows.capacity()) return;
  if (windows.size() >= kCapacity) {
    windows.erase(windows.begin(), windows.end() - MetricSeries::kMaxWindows);
  } else {
    windows.reserve(std::min(kCapacity, std::max<size_t>(4, 2 * windows.size())));
  }
}

void AddWindows(int64_t first, int64_t last, std::vector<int64_t>& windows) {
  if (first > last) return;
  constexpr auto kMost = static_cast<int64_t>(MetricSeries::kMaxWindows);
  if (!windows.empty()) first = std::max(first, windows.back() + 1);
  for (int64_t window = std::max(first, last - kMost + 1); window <= last; ++window) {
    MakeRoom(windows);
    windows.push_back(window);
  }
}

}  // namespace

WindowWidth::WindowWidth(Duration width) : width_(width) {
  const auto divisor = static_cast<uint64_t>(std::max<int64_t>(width.count(), 1));
  const int bits = std::bit_width(divisor - 1);  // 2^bits is at least the divisor
  shift_ = 63 + bits;
  const unsigned __int128 power = static_cast<unsigned __int128>(1) << shift_;
  multiplier_ = static_cast<uint64_t>((power + divisor - 1) / divisor);
}

int64_t NumberOfWindow(Timestamp time, Duration width) {
  const int64_t since = ToNanoseconds(time);
  const int64_t length = width.count();
  return since >= 0 ? since / length : (since - length + 1) / length;
}

WindowValue& MetricSeries::At(int64_t window) {
  if (windows_.empty() || windows_.back().window < window) {
    MakeRoom(windows_);
    return windows_.emplace_back(WindowValue{.window = window});
  }
  MakeRoom(windows_);
  auto at = windows_.end() - 1;  // nearly always one of the last
  while (at != windows_.begin() && at->window > window) --at;
  if (at->window == window) return *at;
  return *windows_.insert(at + (at->window < window ? 1 : 0), {.window = window});
}

// The increment over a long silence is distributed only over the last windows, because older ones
// would be dropped at once.
void MetricSeries::Grow(Timestamp from, Timestamp until, uint64_t by, const WindowWidth& width) {
  const int64_t last = width.NumberOf(until - Duration(1));
  const int64_t first =
      std::clamp(width.NumberOf(from), last - static_cast<int64_t>(kMaxWindows) + 1, last);
  if (first == last) {
    if (by > 0) At(last).value += by;
    return;
  }
  const auto count = static_cast<uint64_t>(last - first + 1);
  for (int64_t window = first; window <= last; ++window) {
    const auto number = static_cast<uint64_t>(window - first);
    const uint64_t share = by / count + (number < by % count ? 1 : 0);
    if (share > 0) At(window).value += share;
  }
}

void MetricSeries::Doubt(Timestamp from, Timestamp until, const WindowWidth& width) {
  AddWindows(width.NumberOf(from), width.NumberOf(until - Duration(1)), unknown_);
}

bool MetricSeries::IsKnown(int64_t window) const {
  if (wrap_ && window >= wrap_->windows.first && window <= wrap_->windows.last) return false;
  return !std::ranges::binary_search(unknown(), window);
}

// Accepts an increment from the previous reading.
void MetricSeries::Take(Timestamp time, uint64_t value, uint64_t step, const WindowWidth& width) {
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
  const Duration interval = time - last_time_;
  // Readings come at intervals that vary by a fifth.
  const bool misses_reading = last_interval_ > Duration(0) && 2 * interval > 3 * last_interval_;
  const Timestamp before = last_time_ - Duration(misses_reading ? 0 : 1);
  AddWindows(width.NumberOf(before) + (misses_reading ? 0 : 1),
             width.NumberOf(time - Duration(1)) - 1, skipped_);
  last_interval_ = interval;
  last_ = value;
  last_time_ = last_reading_ = time;
}

// Decides at the next reading whether a decrease was a wrap or a reset.
void MetricSeries::Decide(Timestamp now, Timestamp device_reset, const WindowWidth& width) {
  const Wrap wrap = *wrap_;
  wrap_.reset();
  if (device_reset > last_time_ && device_reset <= now) {
    Doubt(last_time_, wrap.time, width);
    ++restarts_;
    fall_.reset();
    last_ = wrap.value;
    last_time_ = wrap.time;
  } else {
    Take(wrap.time, wrap.value, wrap.step, width);
  }
}

ReadingFate MetricSeries::AddCounter(Timestamp time, uint64_t value, const CounterLimits& limits,
                                     const WindowWidth& width) {
  if (!last_) {
    first_time_ = last_time_ = last_reading_ = time;
    last_ = value;
    return ReadingFate::kTaken;
  }
  if (time <= last_reading_) {
    const uint64_t before = doubtful_ ? doubtful_->value : wrap_ ? wrap_->value : *last_;
    const bool again = time == last_reading_ && value == before;
    if (!again) return ReadingFate::kLate;
    return wrap_ ? ReadingFate::kOpen : ReadingFate::kTaken;
  }
  if (wrap_) Decide(time, limits.device_reset, width);
  if (const auto step = StepOf(*last_, value, time - last_time_, limits, width)) {
    if (value < *last_ && !doubtful_) {
      wrap_ = Wrap{.time = time,
                   .value = value,
                   .step = *step,
                   .windows = {.first = width.NumberOf(last_time_),
                               .last = width.NumberOf(time - Duration(1))}};
      last_reading_ = time;
      return ReadingFate::kOpen;
    }
    if (doubtful_) Doubt(doubtful_->time, time, width);
    doubtful_.reset();
    Take(time, value, *step, width);
    return ReadingFate::kTaken;
  }
  if (doubtful_) {
    if (const auto step = StepOf(doubtful_->value, value, time - doubtful_->time, limits, width)) {
      constexpr uint8_t kReadings = 3;
      fall_.reset();
      if (doubtful_->value < *last_) {
        fall_ = Fall{.from = *last_, .time = doubtful_->time, .readings = kReadings};
      }
      last_ = doubtful_->value;
      last_time_ = doubtful_->time;
      doubtful_.reset();
      Take(time, value, *step, width);
      return ReadingFate::kTaken;
    }
  }
  Doubt(last_reading_, time, width);
  doubtful_ = Reading{.time = time, .value = value};
  last_reading_ = time;
  ++restarts_;
  return value < *last_ ? ReadingFate::kBackwards : ReadingFate::kImpossible;
}

ReadingFate MetricSeries::AddGauge(Timestamp time, uint64_t value, OfGauge of_window,
                                   const WindowWidth& width) {
  if (last_ && time < last_reading_) return ReadingFate::kLate;
  if (!last_) first_time_ = time;
  last_ = value;
  last_time_ = last_reading_ = time;
  if (value != 0) was_ever_nonzero_ = true;
  // A gauge read at the end of a window belongs to that window, like a counter's increment.
  const int64_t window = width.NumberOf(time - Duration(1));
  const bool is_first = windows().empty() || windows().back().window < window;
  WindowValue& at = At(window);
  at.value = is_first                        ? value
             : of_window == OfGauge::kLowest ? std::min(at.value, value)
                                             : std::max(at.value, value);
  return ReadingFate::kTaken;
}

uint64_t MetricSeries::Sum(int64_t from, int64_t until) const {
  uint64_t sum = 0;
  for (const WindowValue& one : windows()) {
    if (one.window >= from && one.window < until) sum += one.value;
  }
  return sum;
}

uint64_t MetricSeries::Highest(int64_t from, int64_t until) const {
  uint64_t highest = 0;
  for (const WindowValue& one : windows()) {
    if (one.window >= from && one.window < until) highest = std::max(highest, one.value);
  }
  return highest;
}

}  // namespace rocescope
