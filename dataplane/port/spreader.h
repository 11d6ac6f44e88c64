// SPDX-License-Identifier: BSD-3-Clause
// Software in place of RSS: an lcore that receives a frame finds the one that owns its address pair
// and passes the mbuf on, any to any. ERSPAN and VXLAN have one outer pair a switch, so NICs
// cannot.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dataplane/decode/frame.h"
#include "dataplane/pipeline/spsc_ring.h"
#include "dataplane/pipeline/tap_table.h"

struct rte_mbuf;  // NOLINT(readability-identifier-naming): DPDK's

namespace rocescope {

// The rings between lcores, one for each ordered pair, and how many of these still receive.
class SpreadRings {
 public:
  static constexpr uint32_t kRingSize = 1024;  // mbufs
  static constexpr uint32_t kMaxLcores = 64;

  // Ours and not rte_ring: as fast, and ThreadSanitizer understands it.
  using Ring = SpscRing<rte_mbuf*, kRingSize>;

  // The error says that mbufs have no room for a note.
  static Result<std::shared_ptr<SpreadRings>> Make(uint32_t lcores);

  uint32_t lcores() const { return lcores_; }
  Ring& ring(uint32_t from, uint32_t to) { return rings_[from * lcores_ + to]; }

  // Where an mbuf keeps what its receiver found out.
  int note_offset() const { return note_offset_; }

  // An lcore says once a run that it will put no more on its rings. A run is over when all have.
  void LcoreEnded() { ended_.fetch_add(1, std::memory_order_release); }
  bool AllEnded(uint64_t run) const {  // the first is 1
    return ended_.load(std::memory_order_acquire) >= run * lcores_;
  }

  // One takes nothing any more: nobody may wait for its rings.
  void LcoreFailed() { failed_.store(true, std::memory_order_relaxed); }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  explicit SpreadRings(uint32_t lcores) : lcores_(lcores), rings_(size_t{lcores} * lcores) {}

  const uint32_t lcores_;
  std::vector<Ring> rings_;
  int note_offset_ = -1;
  std::atomic<uint64_t> ended_ = 0;
  std::atomic<bool> failed_ = false;
};

// One lcore's end of them.
class Spreader {
 public:
  static constexpr size_t kBurst = 64;

  Spreader(std::shared_ptr<SpreadRings> rings, uint32_t lcore, std::shared_ptr<TapRegistry> taps);

  // All lcores run, once more.
  void Begin() {
    ++run_;
    ended_ = false;
  }
  // This one will pass no more on; said twice is said once.
  void End() {
    if (!std::exchange(ended_, true)) rings_->LcoreEnded();
  }
  // All have ended this time.
  bool AllEnded() const { return rings_->AllEnded(run_); }

  // Follows the mirrors of received frames (TapTable::Settle) and keeps this lcore's own, moved to
  // the front of both spans; returns how many. The others wait for PassOn. At most kBurst at once,
  // and PassOn each time before the next.
  size_t KeepOwn(std::span<rte_mbuf*> mbufs, std::span<RawFrame> frames);

  // Puts what waits on the owners' rings; false if some are full.
  bool PassOn();

  // Frees what waits still; returns how many frames that were.
  uint64_t DropWaiting();

  // Mbufs that others received and this lcore owns, at most kBurst; the caller frees them. 0 if all
  // rings are empty now.
  size_t Take(std::span<rte_mbuf*> mbufs);

  // Fills in what the receiver of an mbuf found out.
  void Recall(const rte_mbuf& mbuf, RawFrame& frame) const;

  SpreadRings& rings() { return *rings_; }
  const TapTable& taps() const { return taps_; }
  uint64_t passed_on() const { return passed_on_; }  // put on others' rings

 private:
  struct Waiting {
    std::array<rte_mbuf*, kBurst> mbufs;
    uint32_t count = 0;
  };

  std::shared_ptr<SpreadRings> rings_;
  const uint32_t lcore_;
  TapTable taps_;
  std::vector<Waiting> waiting_;  // by owner
  uint32_t next_source_ = 0;
  uint64_t run_ = 0;
  bool ended_ = false;
  uint64_t passed_on_ = 0;
};

}  // namespace rocescope
