// SPDX-License-Identifier: BSD-3-Clause
// Notifies the service manager's watchdog while all workers make progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/common/process/notice.h"

namespace rocescope {

class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  // The name of each worker and a count that increases while it makes progress. Names may repeat if
  // their order is stable. Workers that have ended are omitted.
  using Beats = std::vector<std::pair<std::string, uint64_t>>;

  // `period`: the service manager acts after this time without a notification.
  Watchdog(std::chrono::microseconds period, std::function<void()> feed, Notify notify);

  // Call it several times per period. Notifies three times per period, but not while a worker has
  // made no progress for half a period, which is reported once.
  void Look(Clock::time_point now, const Beats& beats);

 private:
  struct Worker {
    uint64_t beats = 0;
    Clock::time_point moved;
    bool told = false;
  };

  bool AllGoOn(Clock::time_point now, const Beats& beats);

  const std::chrono::microseconds period_;
  const std::function<void()> feed_;
  const Notify notify_;
  // The key is the name, and the index among equal names.
  std::map<std::pair<std::string, size_t>, Worker> workers_;
  Clock::time_point fed_;
};

}  // namespace rocescope
