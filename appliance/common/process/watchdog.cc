// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/watchdog.h"

#include <fmt/format.h>

namespace rocescope {

Watchdog::Watchdog(std::chrono::microseconds period, std::function<void()> feed, Notify notify)
    : period_(period), feed_(std::move(feed)), notify_(std::move(notify)) {}

void Watchdog::Look(Clock::time_point now, const Beats& beats) {
  if (!AllGoOn(now, beats) || now - fed_ < period_ / 3) return;
  fed_ = now;
  feed_();
}

bool Watchdog::AllGoOn(Clock::time_point now, const Beats& beats) {
  bool all = true;
  std::map<std::string_view, size_t> seen;
  for (const auto& [name, count] : beats) {
    const auto [at, is_new] = workers_.try_emplace({name, seen[name]++});
    Worker& worker = at->second;
    if (is_new || worker.beats != count) worker = {.beats = count, .moved = now};
    const auto still = now - worker.moved;
    if (still < period_ / 2) continue;
    all = false;
    if (std::exchange(worker.told, true)) continue;
    notify_(Severity::kError,
            fmt::format("thread {} has made no progress for {} s; watchdog notifications stop",
                        name, std::chrono::duration_cast<std::chrono::seconds>(still).count()));
  }
  return all;
}

}  // namespace rocescope
