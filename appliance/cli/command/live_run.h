// SPDX-License-Identifier: BSD-3-Clause
// The control thread of a live run: passes records of the worker cores to the engine, prints counts
// once a second, and decides when to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "appliance/cli/command/live_counts.h"
#include "appliance/daemon/core/record_taker.h"
#include "base/time.h"
#include "dataplane/port/port_set.h"
#include "dataplane/port/trap.h"

namespace rocescope {

class LiveRun {
 public:
  struct Sink {
    RecordTaker::Sink records;
    std::function<void(std::string)> note;  // for the report, too
  };

  LiveRun(const Ports& ports, const Loops& loops, Sink sink, std::optional<Duration> length);

  // The receive loops poll this flag. It is set by a signal, when `length` has elapsed, and by
  // Stop, which any thread may call.
  const std::atomic<bool>& stop() const { return stop_; }
  void Stop() { stop_.store(true, std::memory_order_relaxed); }

  // To be called when all loops have returned.
  void LcoresEnded() { ended_.store(true, std::memory_order_release); }

  // Runs until all records have been consumed after LcoresEnded. An exception ends the loops, too.
  void Run();

  // After Run: the highest observed number of mbufs in use, for each port.
  const std::vector<uint32_t>& mbufs_peaks() const { return mbufs_peaks_; }

 private:
  using Clock = RecordTaker::Clock;

  void TakeUntilTheEnd();
  void LookAtPools();
  void LookForTraps();
  void LookAtLinks();
  void Tell(Clock::time_point now);

  const Ports& ports_;
  const Loops& loops_;
  RecordTaker taker_;
  std::function<void(std::string)> note_;
  std::vector<uint32_t> mbufs_peaks_;    // by port
  std::vector<RdmaTrapDetector> traps_;  // by port
  std::vector<Port::Link> links_;        // by port, as of the last message
  const std::optional<Duration> length_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> ended_ = false;
  LiveCounts told_;
  Clock::time_point told_at_;
};

}  // namespace rocescope
