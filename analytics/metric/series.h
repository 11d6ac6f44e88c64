// SPDX-License-Identifier: BSD-3-Clause
// A metric of one entity over time, in analysis windows aligned to the epoch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "analytics/metric/rare_value.h"
#include "base/prefetch.h"
#include "base/time.h"
#include "dataplane/record/metric.h"

namespace rocescope {

struct WindowValue {
  int64_t window = 0;  // window number since the epoch
  // Increment of a counter within the window, or the highest or lowest reading of a gauge: see
  // OfGauge. The window excludes its start and includes its end.
  uint64_t value = 0;

  friend bool operator==(const WindowValue&, const WindowValue&) = default;
};

// The reading of a gauge that stands for a window with several ones.
enum class OfGauge : uint8_t { kHighest, kLowest };

// Queues and temperatures: their peak. The state of a link and its speed: the worst one.
constexpr OfGauge OfGaugeIn(Metric metric) {
  const bool is_state =
      metric == Metric::kLinkUp || metric == Metric::kAdminUp || metric == Metric::kLinkSpeed;
  return is_state ? OfGauge::kLowest : OfGauge::kHighest;
}

// From the first to the last window, both included.
struct WindowRange {
  int64_t first = 0;
  int64_t last = 0;

  friend bool operator==(const WindowRange&, const WindowRange&) = default;
};

// The width of windows. It finds the window of a time without a division, which takes longer than
// anything else that is done with a reading.
class WindowWidth {
 public:
  WindowWidth(Duration width);  // NOLINT(google-explicit-constructor): a duration in other units

  Duration duration() const { return width_; }
  int64_t NumberOf(Timestamp time) const {
    const int64_t since = ToNanoseconds(time);
    if (since < 0) return (since - width_.count() + 1) / width_.count();
    const auto product = static_cast<unsigned __int128>(since) * multiplier_;
    return static_cast<int64_t>(product >> shift_);
  }

 private:
  Duration width_;
  // The quotient of any number below 2^63 and the width is exactly the product with `multiplier_`,
  // divided by 2^`shift_` (Granlund and Montgomery, "Division by invariant integers using
  // multiplication", PLDI 1994).
  uint64_t multiplier_ = 0;
  int shift_ = 0;
};

int64_t NumberOfWindow(Timestamp time, Duration width);

// What was done with a reading.
enum class ReadingFate : uint8_t {
  kTaken,
  kLate,        // not newer than an accepted reading: ignored
  kBackwards,   // the counter decreased: its increments since the previous reading are unknown
  kImpossible,  // the counter increased by more than possible: handled like a decrease
  kOpen,        // the counter wrapped or was reset: the next reading decides
};

// Plausibility limits of a counter.
struct CounterLimits {
  uint8_t bits = 64;  // width at which it wraps, according to the source
  double most_a_ns = std::numeric_limits<double>::infinity();  // maximum growth per nanosecond
  // Latest reading in which another counter of the same device was reset. A counter that decreased
  // at that time was reset too, although it may seem to have wrapped.
  Timestamp device_reset = Timestamp::min();
};

class MetricSeries {
 public:
  static constexpr size_t kMaxWindows = 256;

  // An implausible reading is kept as doubtful. The next reading decides whether it was an error or
  // whether the counter was reset. The increments in between are unknown in both cases, except that
  // after an error they follow from the next reading.
  ReadingFate AddCounter(Timestamp time, uint64_t value, const CounterLimits& limits,
                         const WindowWidth& width);
  // Never returns kBackwards or kImpossible.
  ReadingFate AddGauge(Timestamp time, uint64_t value, OfGauge of_window, const WindowWidth& width);

  // Prefetches what the next reading needs.
  void Approach() const {
    if (!windows_.empty()) Prefetch(&windows_.back());
  }

  // Ascending. Windows in which a counter did not change are omitted.
  std::span<const WindowValue> windows() const { return Latest(windows_); }
  // A counter's increment, or a gauge's highest value, over the windows [from, until).
  uint64_t Sum(int64_t from, int64_t until) const;
  uint64_t Highest(int64_t from, int64_t until) const;

  // Ascending, at most kMaxWindows each. unknown(): windows in which the counter's increments are
  // unknown, and windows() contains a lower bound. skipped(): windows at whose end the counter is
  // interpolated over a missing reading: those without a reading between two readings, and those
  // whose last reading is missing.
  std::span<const int64_t> unknown() const { return Latest(unknown_); }
  std::span<const int64_t> skipped() const { return Latest(skipped_); }
  // Windows of a decrease that is either a wrap or a reset, until the next reading decides which.
  // windows() does not contain its increment yet.
  std::optional<WindowRange> open() const {
    return wrap_ ? std::optional(wrap_->windows) : std::nullopt;
  }
  bool IsKnown(int64_t window) const;  // neither in unknown() nor in open()

  std::optional<uint64_t> last() const { return last_; }
  // Increase of a counter since its first reading, wraps resolved, without unknown increments.
  uint64_t total() const { return total_; }
  Timestamp first_reading() const { return first_time_; }
  Timestamp last_reading() const { return last_reading_; }  // including a doubtful one
  // Time between the last two accepted readings of a counter, which may exceed the kept windows; 0:
  // there were not two.
  Duration last_interval() const { return last_interval_; }
  uint32_t restarts() const { return restarts_; }  // resets of the counter
  // A gauge had a non-zero value in any window.
  bool was_ever_nonzero() const { return was_ever_nonzero_; }

  // Two sources of one metric are not mixed, because they read it at different times. An sFlow
  // agent's series is replaced as soon as another source reports the metric.
  bool is_by_agent() const { return by_agent_; }
  void SetByAgent(bool by_agent) { by_agent_ = by_agent; }

 private:
  struct Reading {
    Timestamp time;
    uint64_t value = 0;
  };
  // A decrease that is a wrap or a reset.
  struct Wrap {
    Timestamp time;
    uint64_t value = 0;
    uint64_t step = 0;  // increment if it is a wrap
    WindowRange windows;
  };
  // The value before a decrease, and the number of further readings within which the decrease may
  // still prove to be a reading error.
  struct Fall {
    uint64_t from = 0;
    Timestamp time;
    uint8_t readings = 0;
  };

  template <typename Window>
  static std::span<const Window> Latest(const std::vector<Window>& windows) {
    return std::span(windows).last(std::min(windows.size(), kMaxWindows));
  }

  void Take(Timestamp time, uint64_t value, uint64_t step, const WindowWidth& width);
  void Decide(Timestamp now, Timestamp device_reset, const WindowWidth& width);
  void Grow(Timestamp from, Timestamp until, uint64_t by, const WindowWidth& width);
  void Doubt(Timestamp from, Timestamp until, const WindowWidth& width);
  WindowValue& At(int64_t window);

  // Each reading uses all members but the last ones.
  std::optional<uint64_t> last_;  // latest accepted value, read at last_time_
  Timestamp last_time_;
  Timestamp last_reading_;
  Duration last_interval_{};  // between the last two accepted readings
  uint64_t total_ = 0;
  RareValue<Reading> doubtful_;  // newer than last_time_
  RareValue<Wrap> wrap_;         // newer than last_time_; never together with doubtful_
  RareValue<Fall> fall_;
  // The last kMaxWindows of each count; older ones are erased in blocks.
  std::vector<WindowValue> windows_;
  std::vector<int64_t> skipped_;
  uint32_t restarts_ = 0;
  bool was_ever_nonzero_ = false;
  bool by_agent_ = false;
  Timestamp first_time_;
  std::vector<int64_t> unknown_;
};

}  // namespace rocescope
