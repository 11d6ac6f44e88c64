// SPDX-License-Identifier: BSD-3-Clause
// Calls at given times, driven by the caller's clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/time.h"

namespace rocescope::endpoint {

class Timers {
 public:
  // The time that the caller has set last. It never decreases.
  Timestamp Now() const { return now_; }
  void SetNow(Timestamp now) { now_ = std::max(now_, now); }

  // Calls with the same time run in the order in which they were added.
  void At(Timestamp when, std::function<void()> call) {
    calls_.push({.when = when, .order = order_++, .call = std::move(call)});
  }
  // Timestamp::max() if there are none.
  Timestamp Next() const { return calls_.empty() ? Timestamp::max() : calls_.top().when; }
  // Runs all calls that are due. They may add further ones.
  void Run(Timestamp now) {
    SetNow(now);
    while (Next() <= now) {
      auto call = std::move(calls_.top().call);
      calls_.pop();
      call();
    }
  }

 private:
  struct Entry {
    Timestamp when;
    uint64_t order;
    mutable std::function<void()> call;  // moved out of the queue's constant top
    bool operator>(const Entry& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> calls_;
  uint64_t order_ = 0;
  Timestamp now_{};
};

}  // namespace rocescope::endpoint
