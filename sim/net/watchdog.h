// SPDX-License-Identifier: BSD-3-Clause
// The PFC watchdog of a switch: detects queues that are paused for too long, drops their frames,
// and restores them when the pause frames have ended. It follows the action "drop" of SONiC's
// pfcwd, which also polls and usually has times of 200 ms.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/net/port.h"

namespace rocescope::sim {

struct WatchdogOptions {
  SimTime detection = 0;  // time for which a non-empty queue is continuously paused; 0: no watchdog
  // Time without pause frames until the queue forwards again.
  SimTime restoration = 200 * kMillisecond;
};

class PauseWatchdog {
 public:
  PauseWatchdog(Engine& engine, const WatchdogOptions& options, uint8_t priorities)
      : engine_(engine), options_(options), priorities_(priorities) {}

  void Watch(Port& port) { ports_.push_back({.port = &port, .queues = {}}); }
  // Starts polling if a watchdog is configured.
  void Start();

 private:
  struct Queue {
    SimTime held_since = kNever;  // as observed by polling
    SimTime quiet_since = 0;      // while the queue drops
    uint64_t pauses = 0;          // pause frames received up to the last poll
  };
  struct Watched {
    Port* port;
    std::array<Queue, kPriorities> queues;
  };

  SimTime Period() const;
  void Poll();
  void Look(Port& port, uint32_t priority, Queue& queue);

  Engine& engine_;
  const WatchdogOptions options_;
  const uint8_t priorities_;
  std::vector<Watched> ports_;
  MemberEvent<PauseWatchdog, &PauseWatchdog::Poll> poll_{*this};
};

}  // namespace rocescope::sim
