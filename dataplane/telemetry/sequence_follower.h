// SPDX-License-Identifier: BSD-3-Clause
// Detects lost datagrams by the sequence numbers of their sender.
#pragma once

#include <cstdint>

namespace rocescope {

class SequenceFollower {
 public:
  // Sequence numbers are taken modulo `mask` + 1, a power of two.
  void Count(uint32_t sequence, uint32_t mask) {
    ++received_;
    const uint32_t ahead = (sequence - next_) & mask;
    const uint32_t behind = (next_ - sequence) & mask;
    if (received_ > 1 && ahead <= kLargestGap) {
      lost_ += ahead;
    } else if (received_ > 1 && behind <= kLatest) {
      if (behind == 1) ++repeats_;
      // It arrived late, was duplicated, or the sender does not number its datagrams.
      if (lost_ > 0) --lost_;
      return;
    }
    next_ = (sequence + 1) & mask;  // also when the sender restarted
  }

  uint64_t received() const { return received_; }
  uint64_t lost() const { return lost_; }
  // Datagrams with the same number as the one before.
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
