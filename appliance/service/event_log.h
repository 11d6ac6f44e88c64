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

namespace rocescope {

namespace v1 {
class Event;
}

// Any thread.
class EventLog {
 public:
  static constexpr size_t kKept = 4096;

  EventLog();
  ~EventLog();

  // Gives it its cursor.
  void Append(v1::Event event);

  // Of the last event; 0: there was none.
  uint64_t last() const;
  // Those after `cursor`, at most so many. Where some of them are forgotten, the first one is of
  // kind "gap", with the cursor of the last that is; likewise where the cursor is of another life
  // of the box, that is later than the last.
  std::vector<std::shared_ptr<const v1::Event>> After(uint64_t cursor, size_t most) const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const v1::Event>> kept_;
  uint64_t last_ = 0;
};

}  // namespace rocescope
