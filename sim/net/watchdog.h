// SPDX-License-Identifier: BSD-3-Clause
// A switch's PFC watchdog: looks for queues that pauses hold for too long, lets them go by dropping
// their frames, and restores them once the pauses have ended. As SONiC's pfcwd does with its action
// "drop": that polls too, and its times are 200 ms by habit.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/net/port.h"

namespace rocescope::sim {

struct WatchdogOptions {
  SimTime detection = 0;  // that a queue with frames is held without a break; 0: no watchdog
  SimTime restoration = 200 * kMillisecond;  // without a pause, until it forwards again
};

class PauseWatchdog {
 public:
  PauseWatchdog(Engine& engine, const WatchdogOptions& options, uint8_t priorities)
      : engine_(engine), options_(options), priorities_(priorities) {}

  void Watch(Port& port) { ports_.push_back({.port = &port, .queues = {}}); }
  // Polls from now on, where there is a watchdog at all.
  void Start();

 private:
  struct Queue {
    SimTime held_since = kNever;  // as polls saw it
    SimTime quiet_since = 0;      // while it drops
    uint64_t pauses = 0;          // received, by the last poll
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
