// SPDX-License-Identifier: BSD-3-Clause
// Rate limit for received data.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rocescope {

// Token bucket: limits the rate in bytes per second, with a burst of some seconds.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pace(uint64_t bytes_per_second)
      : rate_(static_cast<double>(bytes_per_second)), debt_(-kBurst * rate_) {}

  // Records received bytes and returns how long to wait before the next read.
  Clock::duration Take(size_t bytes, Clock::time_point now) {
    const double passed = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    debt_ = std::max(debt_ - passed * rate_, -kBurst * rate_) + static_cast<double>(bytes);
    if (debt_ <= 0) return {};
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(debt_ / rate_));
  }

 private:
  static constexpr double kBurst = 4;  // seconds

  const double rate_;
  double debt_;  // bytes over the limit; negative: bytes that may still be received
  Clock::time_point last_ = Clock::now();
};

}  // namespace rocescope
