// SPDX-License-Identifier: BSD-3-Clause
// Observations of one 24-bit sequence space at a tap: 24 bytes per flow, a few instructions per
// packet.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/qpn.h"

namespace rocescope {

enum class PsnResult : uint8_t {
  kFirst,    // the first packet of a sequence
  kInOrder,  // the next PSN, or a PSN after a gap
  // A first copy that arrived after a later PSN: reordered, or lost upstream and retransmitted.
  kReordered,
  kRetransmitted,  // seen before, or too old to decide
  kRestart,        // too far away to belong to the same sequence
};

// The last 64 PSNs are a bitmap. `Gaps` (gap_store.h) stores older missing PSNs. It is shared by
// many trackers and is accessed only if packets are missing. Its interface:
//   void Add(uint32_t first, uint32_t count);  // adds skipped PSNs
//   bool Fill(uint32_t psn);  // returns true and removes the PSN if it was skipped
//   void Forget();
class PsnTracker {
 public:
  // A larger jump means that the queue pair was recreated, or that the tap received nothing for too
  // long to count the gap: senders keep far fewer packets in flight, and go-back-N returns at most
  // that far.
  static constexpr int32_t kMaximumJump = 1 << 16;

  bool valid() const { return known_ != 0; }
  uint32_t highest() const { return highest_; }
  // PSNs skipped minus PSNs filled since the counts were cleared. Negative if older gaps were
  // filled.
  int32_t missing() const { return missing_; }
  uint32_t retransmitted() const { return retransmitted_; }
  uint16_t reordered() const { return reordered_; }
  uint8_t restarts() const { return restarts_; }

  // Distance of `psn` from the highest PSN seen. Requires valid().
  int32_t Ahead(uint32_t psn) const { return PsnDistance(highest_, psn); }

  // Fast path for nearly all packets: accepts `psn` and returns true if it is the next PSN and no
  // missing PSN leaves the window. Otherwise returns false, and the caller must call Observe.
  bool Advance(uint32_t psn) {
    if (psn != ((highest_ + 1) & k24BitMask) || (window_ >> 63) == 0) return false;
    window_ = window_ << 1 | 1;
    known_ += known_ < 64;
    highest_ = psn;
    return true;
  }

  // `reserved` is the number of PSNs after the highest one that are never sent because they belong
  // to the response to a READ. Only PSNs beyond them count as a gap.
  template <typename Gaps>
  PsnResult Observe(uint32_t psn, uint32_t reserved, Gaps&& gaps) {
    if (Advance(psn)) return PsnResult::kInOrder;
    if (!valid()) {
      Begin(psn);
      return PsnResult::kFirst;
    }
    const int32_t ahead = Ahead(psn);
    return ahead > 0 ? Skip(psn, static_cast<uint32_t>(ahead), reserved, gaps)
                     : Return(psn, -ahead, gaps);
  }

  template <typename Gaps>
  PsnResult Restart(uint32_t psn, Gaps&& gaps) {
    restarts_ = static_cast<uint8_t>(std::min<uint32_t>(restarts_ + 1u, UINT8_MAX));
    gaps.Forget();
    Begin(psn);
    return PsnResult::kRestart;
  }

  // Starts a new sequence at `psn`, whatever was seen before.
  void Begin(uint32_t psn) {
    window_ = ~uint64_t{0};
    known_ = 1;
    highest_ = psn;
  }

  // Undoes the count of the last kRetransmitted, when the copy turns out to come from another hop.
  void UndoRetransmission() { --retransmitted_; }

  // Clears the counters for the next record. The sequence state is kept.
  void ClearCounts() {
    missing_ = 0;
    retransmitted_ = 0;
    reordered_ = 0;
    restarts_ = 0;
  }

 private:
  uint32_t Back(uint32_t distance) const { return (highest_ - distance) & k24BitMask; }

  template <typename Gaps>
  PsnResult Skip(uint32_t psn, uint32_t ahead, uint32_t reserved, Gaps& gaps) {
    reserved = std::min(reserved, ahead - 1);
    if (ahead - reserved > static_cast<uint32_t>(kMaximumJump)) return Restart(psn, gaps);
    const uint32_t skipped = ahead - 1 - reserved;
    missing_ += static_cast<int32_t>(skipped);
    // The PSNs that leave the window, oldest first.
    uint64_t leaving = ~window_;
    if (ahead < 64) leaving &= ~uint64_t{0} << (64 - ahead);
    while (leaving != 0) {
      const auto place = static_cast<uint32_t>(63 - std::countl_zero(leaving));
      gaps.Add(Back(place), 1);
      leaving &= ~(uint64_t{1} << place);
    }
    if (skipped > 63) gaps.Add((highest_ + 1 + reserved) & k24BitMask, skipped - 63);
    // PSNs that a READ reserves for its responses count as seen, because no request will use them.
    const uint64_t from_reserved = OnesFrom(ahead - reserved);
    window_ = (ahead < 64 ? window_ << ahead : 0) | (from_reserved & ~OnesFrom(ahead)) | 1;
    known_ = static_cast<uint8_t>(std::min<uint32_t>(64, known_ + std::min(ahead, 64u)));
    highest_ = psn;
    return PsnResult::kInOrder;
  }

  template <typename Gaps>
  PsnResult Return(uint32_t psn, int32_t behind, Gaps& gaps) {
    if (behind > kMaximumJump) return Restart(psn, gaps);
    if (behind >= known_ && behind < 64) return Late();  // from before the first one seen
    const uint64_t bit = behind < 64 ? uint64_t{1} << behind : 0;
    if (behind < 64 ? (window_ & bit) != 0 : !gaps.Fill(psn)) {
      ++retransmitted_;
      return PsnResult::kRetransmitted;
    }
    window_ |= bit;
    --missing_;
    return Late();
  }

  PsnResult Late() {
    reordered_ = static_cast<uint16_t>(std::min<uint32_t>(reordered_ + 1u, UINT16_MAX));
    return PsnResult::kReordered;
  }

  static uint64_t OnesFrom(uint32_t bit) { return bit < 64 ? ~uint64_t{0} << bit : 0; }

  uint64_t window_ = 0;   // bit i: PSN highest_ - i was seen, or precedes the first one seen
  uint32_t highest_ = 0;  // the highest PSN seen
  int32_t missing_ = 0;
  uint32_t retransmitted_ = 0;
  uint16_t reordered_ = 0;  // saturates at 65535
  uint8_t restarts_ = 0;    // saturates at 255
  uint8_t known_ = 0;       // number of valid positions in the window; 0: nothing seen yet
};
static_assert(sizeof(PsnTracker) == 24);

}  // namespace rocescope
