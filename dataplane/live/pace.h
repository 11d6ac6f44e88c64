// SPDX-License-Identifier: BSD-3-Clause
// When a loop that waits in the kernel does what is to be done now and then.
#pragma once

#include <chrono>

namespace rocescope {

// A loop looks at least so often whether it is to stop.
inline constexpr std::chrono::milliseconds kLongestWait{50};

class Pace {
 public:
  // 20 times a second.
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
