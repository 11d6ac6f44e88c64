// SPDX-License-Identifier: BSD-3-Clause
// Limits the rate at which a host sends request packets.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace rocescope::endpoint {

struct RateLimit {
  double bits_per_second = 0;
  double packets_per_second = 1000;  // used if bits_per_second is 0
};

class Pacer {
 public:
  explicit Pacer(const RateLimit& limit) : limit_(limit) {}

  // The time from which the next packet may be sent.
  Timestamp next() const { return next_; }
  // Records that a frame of this length is sent now.
  void Count(uint64_t bytes, Timestamp now) {
    const double seconds = limit_.bits_per_second > 0
                               ? static_cast<double>(bytes) * 8 / limit_.bits_per_second
                               : 1 / limit_.packets_per_second;
    const auto gap = Duration(static_cast<int64_t>(seconds * 1e9));
    next_ = std::max(next_, now - std::min(kLongestBurst, kBurstPackets * gap)) + gap;
  }

 private:
  // After a late wake-up, so many packets may be sent at once, but not more than those of this
  // time.
  static constexpr int kBurstPackets = 4;
  static constexpr Duration kLongestBurst = std::chrono::milliseconds(2);

  const RateLimit limit_;
  Timestamp next_{};
};

}  // namespace rocescope::endpoint
