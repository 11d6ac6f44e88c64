// SPDX-License-Identifier: BSD-3-Clause
// What a tap has seen of one 24-bit sequence space: 24 octets a flow, a few instructions a packet.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/qpn.h"

namespace rocescope {

enum class PsnVerdict : uint8_t {
  kFirst,      // nothing to compare with
  kInOrder,    // the next one, or beyond a gap
  kReordered,  // a first copy that came after a later PSN
  kResent,     // seen before, or too far back to tell
  kRestart,    // too far away to be the same sequence
};

class PsnTracker {
 public:
  // A jump this far is another incarnation of the queue pair: senders keep far fewer packets in
  // flight, and go-back-N returns at most that far.
  static constexpr int32_t kMaximumJump = 1 << 16;

  bool valid() const { return (highest_ & kValid) != 0; }
  uint32_t highest() const { return highest_ & k24BitMask; }
  uint32_t unseen() const { return unseen_; }
  uint32_t resent() const { return resent_; }
  uint32_t reordered() const { return reordered_; }
  uint32_t restarts() const { return restarts_; }

  // How far `psn` lies ahead of the furthest PSN seen; meaningless unless valid().
  int32_t Ahead(uint32_t psn) const { return PsnDistance(highest(), psn); }

  // `reserved`: PSNs after the furthest one that will never be sent, since they belong to a READ's
  // response; a gap is counted beyond them alone.
  PsnVerdict Observe(uint32_t psn, uint32_t reserved) {
    if (!valid()) {
      Begin(psn);
      return PsnVerdict::kFirst;
    }
    const int32_t ahead = Ahead(psn);
    if (ahead == 1) {
      window_ = window_ << 1 | 1;
      highest_ = psn | kValid;
      return PsnVerdict::kInOrder;
    }
    if (ahead > kMaximumJump || ahead < -kMaximumJump) return Restart(psn);
    if (ahead > 0) {
      const auto skipped = static_cast<uint32_t>(ahead) - 1;
      unseen_ += skipped - std::min(skipped, reserved);
      window_ = (ahead < 64 ? window_ << ahead : 0) | 1;
      // Reserved PSNs count as seen: nothing will come to fill them.
      for (uint32_t i = skipped > 63 ? skipped - 63 : 0; i < std::min(reserved, skipped); ++i) {
        window_ |= uint64_t{1} << (skipped - i);
      }
      highest_ = psn | kValid;
      return PsnVerdict::kInOrder;
    }
    const uint64_t bit = ahead > -64 ? uint64_t{1} << -ahead : 0;
    if (bit == 0 || (window_ & bit) != 0) {
      ++resent_;
      return PsnVerdict::kResent;
    }
    window_ |= bit;
    if (unseen_ > 0) --unseen_;
    reordered_ = static_cast<uint16_t>(std::min<uint32_t>(reordered_ + 1u, UINT16_MAX));
    return PsnVerdict::kReordered;
  }

  PsnVerdict Restart(uint32_t psn) {
    restarts_ = static_cast<uint16_t>(std::min<uint32_t>(restarts_ + 1u, UINT16_MAX));
    Begin(psn);
    return PsnVerdict::kRestart;
  }

  // Undoes the count of the last kResent: the copy came over another hop.
  void ForgiveResent() { --resent_; }

  // Counters begin anew with each record interval; the sequence itself goes on.
  void ClearCounts() { unseen_ = resent_ = reordered_ = restarts_ = 0; }

 private:
  static constexpr uint32_t kValid = 1u << 31;

  void Begin(uint32_t psn) {
    window_ = 1;
    highest_ = psn | kValid;
  }

  uint64_t window_ = 0;   // bit i: highest - i was seen
  uint32_t highest_ = 0;  // the furthest PSN, and kValid
  uint32_t unseen_ = 0;
  uint32_t resent_ = 0;
  uint16_t reordered_ = 0;
  uint16_t restarts_ = 0;
};
static_assert(sizeof(PsnTracker) == 24);

}  // namespace rocescope
