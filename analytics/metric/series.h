// SPDX-License-Identifier: BSD-3-Clause
// One metric of one entity over time, by analysis windows: multiples of their width since the
// epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"

namespace rocescope {

struct WindowValue {
  int64_t window = 0;  // its number since the epoch
  // By how much a counter grew in it; the highest reading of a gauge, that at the window's end
  // included and that at its beginning not.
  uint64_t value = 0;

  friend bool operator==(const WindowValue&, const WindowValue&) = default;
};

int64_t NumberOfWindow(Timestamp time, Duration width);

class MetricSeries {
 public:
  static constexpr size_t kMostWindows = 256;

  // Readings that are older than the last one are left out. `bits`: where a counter wraps.
  void AddCounter(Timestamp time, uint64_t value, uint8_t bits, Duration width);
  void AddGauge(Timestamp time, uint64_t value, Duration width);

  // Ascending. Of a counter, windows in which it stood still are not among them.
  std::span<const WindowValue> windows() const { return windows_; }
  // Of windows from `from` on and before `until`: a counter's growth, a gauge's highest.
  uint64_t Sum(int64_t from, int64_t until) const;
  uint64_t Highest(int64_t from, int64_t until) const;

  std::optional<uint64_t> last() const { return last_; }
  Timestamp first_reading() const { return first_time_; }
  Timestamp last_reading() const { return last_time_; }
  uint32_t restarts() const { return restarts_; }  // of the counter

  // Two that tell of the same entity are not mixed: they read at other moments. An agent that has
  // its own times gives way to whoever else tells the metric.
  bool is_by_agent() const { return by_agent_; }
  void SetByAgent(bool by_agent) { by_agent_ = by_agent; }

 private:
  void Grow(Timestamp from, Timestamp until, uint64_t by, Duration width);
  WindowValue& At(int64_t window);

  std::vector<WindowValue> windows_;
  std::optional<uint64_t> last_;
  Timestamp first_time_;
  Timestamp last_time_;
  uint32_t restarts_ = 0;
  bool by_agent_ = false;
};

}  // namespace rocescope
