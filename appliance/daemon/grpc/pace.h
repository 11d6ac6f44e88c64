// SPDX-License-Identifier: BSD-3-Clause
// How long to wait before more is read from one who sends too fast.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rocescope {

// Refuses what comes faster than so many octets a second, but for a burst of some seconds.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pace(uint64_t bytes_per_second)
      : rate_(static_cast<double>(bytes_per_second)), debt_(-kBurst * rate_) {}

  // So many octets have come: for so long none should.
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
  double debt_;  // octets; negative: what may still come
  Clock::time_point last_ = Clock::now();
};

}  // namespace rocescope
