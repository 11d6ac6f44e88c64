// SPDX-License-Identifier: BSD-3-Clause
// The latest published answer. One thread publishes, and readers never block it.
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
  uint64_t version = 0;    // starts at 1
  Timestamp reached;       // event time
  Timestamp published_at;  // by the appliance's clock
  Duration took{};         // duration of the computation
  // How often the analysis restarted because the clock was set back. If it differs from the
  // previous answer, the faults and times of that answer are not comparable.
  uint32_t restarted = 0;
  bool is_memory_full = false;  // flows beyond the present ones are not analysed
  RecordLoss loss;              // in the last minute
};

class Answers {
 public:
  void Publish(Answer answer);

  // Null if there is none yet.
  std::shared_ptr<const Answer> Latest() const;
  // Waits for an answer with another version. Null on timeout or when closed.
  std::shared_ptr<const Answer> WaitForOther(uint64_t version, std::chrono::milliseconds wait);

  // No more answers will come: wakes all waiting readers.
  void Close();

 private:
  mutable std::mutex mutex_;  // held only to copy or swap a pointer
  std::condition_variable changed_;
  std::shared_ptr<const Answer> latest_;
  bool closed_ = false;
};

}  // namespace rocescope
