// SPDX-License-Identifier: BSD-3-Clause
// Intervals at which a receive loop wakes up for periodic work.
#pragma once

#include <chrono>

namespace rocescope {

// Maximum time between two checks of the stop flag.
inline constexpr std::chrono::milliseconds kLongestWait{50};

class Pace {
 public:
  // Returns true 20 times a second.
  bool IsDue() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(50);
    return true;
  }

 private:
  std::chrono::steady_clock::time_point next_;
};

}  // namespace rocescope
