// SPDX-License-Identifier: BSD-3-Clause
#include "sim/net/watchdog.h"

#include <algorithm>

namespace rocescope::sim {

void PauseWatchdog::Start() {
  if (options_.detection > 0) engine_.At(engine_.Now() + Period(), poll_);
}

// Four polls within the shorter time: a stall is detected at most a quarter too late.
SimTime PauseWatchdog::Period() const {
  const SimTime shorter = options_.restoration > 0
                              ? std::min(options_.detection, options_.restoration)
                              : options_.detection;
  return std::max<SimTime>(shorter / 4, 1);
}

void PauseWatchdog::Poll() {
  for (Watched& watched : ports_) {
    for (uint32_t priority = 0; priority < kPriorities; ++priority) {
      if ((priorities_ >> priority & 1) != 0) {
        Look(*watched.port, priority, watched.queues[priority]);
      }
    }
  }
  engine_.At(engine_.Now() + Period(), poll_);
}

void PauseWatchdog::Look(Port& port, uint32_t priority, Queue& queue) {
  const SimTime now = engine_.Now();
  const uint64_t pauses = port.counters().pause_rx[priority];
  if (port.IsDropping(priority)) {
    if (port.IsPaused(priority) || pauses != queue.pauses) queue.quiet_since = now;
    queue.pauses = pauses;
    if (now - queue.quiet_since >= options_.restoration) port.SetDropping(priority, false);
    return;
  }
  if (!port.IsPaused(priority) || port.queued(priority) == 0) {
    queue.held_since = kNever;
    return;
  }
  // The queue was resumed and paused again since the last poll: it made progress.
  if (queue.held_since == kNever || port.PausedSince(priority) > queue.held_since) {
    queue.held_since = now;
  }
  if (now - queue.held_since < options_.detection) return;
  queue = {.quiet_since = now, .pauses = pauses};
  ++port.counters().watchdog[priority];
  port.SetDropping(priority, true);
}

}  // namespace rocescope::sim
