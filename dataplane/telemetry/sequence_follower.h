// SPDX-License-Identifier: BSD-3-Clause
// What is missing in a sequence of datagrams that their sender numbers.
#pragma once

#include <cstdint>

namespace rocescope {

class SequenceFollower {
 public:
  // Numbers are taken modulo `mask` + 1, which is a power of two.
  void Count(uint32_t sequence, uint32_t mask) {
    ++received_;
    const uint32_t ahead = (sequence - next_) & mask;
    const uint32_t behind = (next_ - sequence) & mask;
    if (received_ > 1 && ahead <= kLargestGap) {
      lost_ += ahead;
    } else if (received_ > 1 && behind <= kLatest) {
      if (behind == 1) ++repeats_;
      if (lost_ > 0) --lost_;  // it was late; or sent twice, or by a sender that does not count
      return;
    }
    next_ = (sequence + 1) & mask;  // also where the sender began anew
  }

  uint64_t received() const { return received_; }
  uint64_t lost() const { return lost_; }
  // With the same number as the one before.
  uint64_t repeats() const { return repeats_; }

 private:
  static constexpr uint32_t kLargestGap = 1 << 16;
  static constexpr uint32_t kLatest = 64;

  uint64_t received_ = 0;
  uint64_t lost_ = 0;
  uint64_t repeats_ = 0;
  uint32_t next_ = 0;
};

}  // namespace rocescope
