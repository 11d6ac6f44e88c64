// SPDX-License-Identifier: BSD-3-Clause
// What happened, for those who listen: the last events, each with a cursor from which a listener
// goes on after an interruption.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/time.h"

namespace rocescope {

namespace v1 {
class Event;
}

// Any thread.
class EventLog {
 public:
  static constexpr size_t kKept = 4096;

  // The first event has the cursor after `began`. With FirstCursorOf a life of the box, a cursor of
  // an earlier life lies before all of this one's.
  explicit EventLog(uint64_t began = 0);
  ~EventLog();

  // Gives it its cursor.
  void Append(v1::Event event);

  // Of the last event; `began`: there was none.
  uint64_t last() const;
  // How many there were, in this life of the box.
  uint64_t told() const { return last() - began_; }
  // Those after `cursor`, at most so many; 0: from the box's beginning on. Where some of them are
  // forgotten, the first one is of kind "gap", with the cursor of the last that is; likewise where
  // the cursor is of another life of the box, that is before the first or later than the last.
  std::vector<std::shared_ptr<const v1::Event>> After(uint64_t cursor, size_t most) const;

 private:
  const uint64_t began_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const v1::Event>> kept_;
  uint64_t last_;
};

// A life of the box begins to count here: a million numbers for each second since the epoch, below
// 2^53 for some centuries, so that a program that takes numbers for doubles keeps them exact.
constexpr uint64_t FirstCursorOf(Timestamp began) {
  const int64_t seconds = ToNanoseconds(began) / 1'000'000'000;
  return seconds > 0 ? static_cast<uint64_t>(seconds) << 20 : 0;
}

}  // namespace rocescope
