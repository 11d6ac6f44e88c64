// SPDX-License-Identifier: BSD-3-Clause
// Feeds the service manager's watchdog as long as every worker goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocescope {

class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  // Of each worker its name and a count that grows while it goes on; names may repeat, as long as
  // their order stays. A worker that has ended is not among them.
  using Beats = std::vector<std::pair<std::string, uint64_t>>;

  // `period`: after so long without being fed the manager acts.
  Watchdog(std::chrono::microseconds period, std::function<void()> feed,
           std::function<void(const std::string&)> tell);

  // To be called some times a period. Feeds three times a period; not while a worker has stood
  // still for half of one, which is told once.
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
  const std::function<void(const std::string&)> tell_;
  std::map<std::pair<std::string, size_t>, Worker> workers_;  // by name, and which of that name
  Clock::time_point fed_;
};

}  // namespace rocescope
