// SPDX-License-Identifier: BSD-3-Clause
// One metric of one entity over time, by analysis windows: multiples of their width since the
// epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

// What became of a reading.
enum class ReadingFate : uint8_t {
  kTaken,
  kLate,        // older than one that was taken, or another one of the same moment: left out
  kBackwards,   // the counter fell: what it did since the reading before is not known
  kImpossible,  // the counter grew by more than it can: likewise
};

// What may be believed of a counter.
struct CounterLimits {
  uint8_t bits = 64;                                           // where it wraps, as its teller says
  double most_a_ns = std::numeric_limits<double>::infinity();  // that it may grow by
};

class MetricSeries {
 public:
  static constexpr size_t kMaxWindows = 256;

  // A reading that cannot be is doubtful: the next one says whether it was a mistake, or whether
  // the counter began anew there. What it did meanwhile is not known either way; of a mistake, it
  // is what the reading after it leaves.
  ReadingFate AddCounter(Timestamp time, uint64_t value, const CounterLimits& limits,
                         Duration width);
  // Never backwards, nor impossible.
  ReadingFate AddGauge(Timestamp time, uint64_t value, Duration width);

  // Ascending. Of a counter, windows in which it stood still are not among them.
  std::span<const WindowValue> windows() const { return windows_; }
  // Of windows from `from` on and before `until`: a counter's growth, a gauge's highest.
  uint64_t Sum(int64_t from, int64_t until) const;
  uint64_t Highest(int64_t from, int64_t until) const;

  // Ascending, and at most kMaxWindows. Windows in which a counter did nobody knows what: what
  // windows() says of them is the least. And windows without a reading, between two: there it is
  // a share of what it was over several.
  std::span<const int64_t> unknown() const { return unknown_; }
  std::span<const int64_t> skipped() const { return skipped_; }
  bool IsKnown(int64_t window) const;

  std::optional<uint64_t> last() const { return last_; }
  Timestamp first_reading() const { return first_time_; }
  Timestamp last_reading() const { return last_reading_; }  // a doubtful one too
  uint32_t restarts() const { return restarts_; }           // of the counter
  // A gauge said so once, in whatever window.
  bool was_ever_nonzero() const { return was_ever_nonzero_; }

  // Two that tell of the same entity are not mixed: they read at other moments. An agent that has
  // its own times gives way to whoever else tells the metric.
  bool is_by_agent() const { return by_agent_; }
  void SetByAgent(bool by_agent) { by_agent_ = by_agent; }

 private:
  struct Reading {
    Timestamp time;
    uint64_t value = 0;
  };
  // From where a counter fell, and for how many readings it may still turn out to be a mistake.
  struct Fall {
    uint64_t from = 0;
    Timestamp time;
    uint8_t readings = 0;
  };

  void Take(Timestamp time, uint64_t value, uint64_t step, Duration width);
  void Grow(Timestamp from, Timestamp until, uint64_t by, Duration width);
  void Doubt(Timestamp from, Timestamp until, Duration width);
  WindowValue& At(int64_t window);

  std::vector<WindowValue> windows_;
  std::vector<int64_t> unknown_;
  std::vector<int64_t> skipped_;
  std::optional<uint64_t> last_;     // that is believed, as is last_time_
  std::optional<Reading> doubtful_;  // later than that
  std::optional<Fall> fall_;
  Timestamp first_time_;
  Timestamp last_time_;
  Timestamp last_reading_;
  uint32_t restarts_ = 0;
  bool was_ever_nonzero_ = false;
  bool by_agent_ = false;
};

}  // namespace rocescope
