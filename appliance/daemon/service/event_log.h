// SPDX-License-Identifier: BSD-3-Clause
// The last events, each with a cursor at which a client can resume.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "appliance/api/message_value.h"
#include "base/time.h"

namespace rocescope {

namespace v1 {
class Event;
}

// Thread-safe.
class EventLog {
 public:
  static constexpr size_t kKept = 4096;

  // The first event gets the cursor after `began`. With FirstCursorOf(start time), the cursors of
  // an earlier process are smaller than all cursors of this one.
  explicit EventLog(uint64_t began = 0);
  ~EventLog();

  // Appends the event and sets its cursor.
  void Append(v1::Event event);

  // Cursor of the last event; `began` if there is none.
  uint64_t last() const;
  // Number of events since the process started.
  uint64_t published() const { return last() - began_; }
  // Returns at most `most` events after `cursor`; 0: from the start of the process
  // (in WatchEventsRequest.cursor, 0 means the active faults and new events; EventReader converts
  // it). If some are no longer stored, the first returned event is of KIND_GAP and has the cursor
  // of the last one that is missing. The same holds for a cursor that this process has not issued,
  // which is smaller than the first cursor or larger than the last one: all stored events follow
  // the gap.
  std::vector<std::shared_ptr<const v1::Event>> After(uint64_t cursor, size_t most) const;

 private:
  const uint64_t began_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const v1::Event>> kept_;
  uint64_t last_;
};

// First cursor of a process: 2^20 (about a million) cursors per second since the epoch. The values
// stay below 2^53 for centuries, so that clients which parse numbers as doubles keep them exact.
constexpr uint64_t FirstCursorOf(Timestamp began) {
  const int64_t seconds = ToNanoseconds(began) / 1'000'000'000;
  return seconds > 0 ? static_cast<uint64_t>(seconds) << 20 : 0;
}

}  // namespace rocescope
