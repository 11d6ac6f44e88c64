// SPDX-License-Identifier: BSD-3-Clause
// The thread beside the lcores of a live run: takes their records into the engine, tells counts
// once a second, and says when to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "appliance/command/analysis.h"
#include "appliance/command/live_counts.h"
#include "base/time.h"
#include "dataplane/port/port.h"
#include "dataplane/port/receive_loop.h"

namespace rocescope {

using Ports = std::vector<std::unique_ptr<Port>>;
using Loops = std::vector<std::unique_ptr<ReceiveLoop>>;

class LiveRun {
 public:
  LiveRun(const Ports& ports, const Loops& loops, Analysis& analysis,
          std::optional<Duration> length);

  // For the loops to look at: set at a signal, and when `length` is over.
  const std::atomic<bool>& stop() const { return stop_; }

  // All loops have returned.
  void LcoresEnded() { ended_.store(true, std::memory_order_release); }

  // Until all records are in after LcoresEnded. What it throws ends the loops too.
  void Run();

 private:
  using Clock = std::chrono::steady_clock;

  // How far an lcore's event time has come, and when it said so.
  struct Reached {
    Timestamp event;
    Clock::time_point said;
  };

  void TakeUntilTheEnd();
  bool TakeRecords(Clock::time_point now);
  void Advance(Clock::time_point now);
  void Tell(Clock::time_point now);

  const Ports& ports_;
  const Loops& loops_;
  Analysis& analysis_;
  const std::optional<Duration> length_;
  std::vector<Reached> reached_;  // by lcore
  std::atomic<bool> stop_ = false;
  std::atomic<bool> ended_ = false;
  LiveCounts told_;
  Clock::time_point told_at_;
};

}  // namespace rocescope
