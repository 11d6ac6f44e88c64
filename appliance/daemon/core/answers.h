// SPDX-License-Identifier: BSD-3-Clause
// What the box knows now: one thread publishes, any other reads, and nobody waits for the other.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "analytics/engine/snapshot.h"
#include "appliance/daemon/core/record_loss.h"
#include "base/time.h"

namespace rocescope {

struct Answer {
  std::shared_ptr<const Snapshot> snapshot;
  uint64_t version = 0;    // counts from 1
  Timestamp reached;       // event time
  Timestamp published_at;  // our clock
  Duration took{};         // to work it out
  // How often analysis had begun anew, as the clock was set back: where it differs from the answer
  // before, that one's faults and times are of a clock that is not in force any more.
  uint32_t restarted = 0;
  RecordLoss loss;  // lately
};

class Answers {
 public:
  void Publish(Answer answer);

  // Null: there is none yet.
  std::shared_ptr<const Answer> Latest() const;
  // The first one with another version; null after so long, or once they are closed.
  std::shared_ptr<const Answer> WaitForOther(uint64_t version, std::chrono::milliseconds wait);

  // There will be no more: whoever waits stops.
  void Close();

 private:
  mutable std::mutex mutex_;  // held to copy or swap a pointer
  std::condition_variable changed_;
  std::shared_ptr<const Answer> latest_;
  bool closed_ = false;
};

}  // namespace rocescope
