// SPDX-License-Identifier: BSD-3-Clause
// Distribution of frames in software in place of RSS: the lcore that receives a frame finds the
// owner of its inner address pair and passes the mbuf to it. NICs cannot do this, because all
// copies of a switch's ERSPAN or VXLAN mirror have the same outer address pair.
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

// The rings between lcores, one for each ordered pair, and the number of lcores that still receive.
class SpreadRings {
 public:
  static constexpr uint32_t kRingSize = 1024;  // mbufs
  static constexpr uint32_t kMaxLcores = 64;

  // Not rte_ring, because this ring is as fast and ThreadSanitizer understands it.
  using Ring = SpscRing<rte_mbuf*, kRingSize>;

  // Returns an error if mbufs have no space for the note.
  static Result<std::shared_ptr<SpreadRings>> Make(uint32_t lcores);

  uint32_t lcores() const { return lcores_; }
  Ring& ring(uint32_t from, uint32_t to) { return rings_[from * lcores_ + to]; }

  // Offset in the mbuf at which the receiver stores its results.
  int note_offset() const { return note_offset_; }

  // Each lcore calls this once per run when it will push no more frames. The run ends when all
  // have called it.
  void LcoreEnded() { ended_.fetch_add(1, std::memory_order_release); }
  bool AllEnded(uint64_t run) const {  // the first run is 1
    return ended_.load(std::memory_order_acquire) >= run * lcores_;
  }

  // An lcore failed and pops no more frames: the others must not wait for its rings.
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

// The interface of one lcore to the rings.
class Spreader {
 public:
  static constexpr size_t kBurst = 64;

  Spreader(std::shared_ptr<SpreadRings> rings, uint32_t lcore, std::shared_ptr<TapRegistry> taps);

  // Call at the start of each run, on all lcores.
  void Begin() {
    ++run_;
    ended_ = false;
  }
  // This lcore passes on no more frames. May be called repeatedly.
  void End() {
    if (!std::exchange(ended_, true)) rings_->LcoreEnded();
  }
  // True if all lcores have ended this run.
  bool AllEnded() const { return rings_->AllEnded(run_); }

  // Updates the mirror sessions of received frames (TapTable::Settle), moves this lcore's own
  // frames to the front of both spans, and returns their number. The other frames wait for PassOn.
  // Takes at most kBurst frames at once; call PassOn before the next call.
  size_t KeepOwn(std::span<rte_mbuf*> mbufs, std::span<RawFrame> frames);

  // Pushes the waiting frames to the owners' rings. Returns false if some rings are full.
  bool PassOn();

  // Frees the frames that still wait and returns their number.
  uint64_t DropWaiting();

  // Pops at most kBurst mbufs that others received and this lcore owns. The caller frees them.
  // Returns 0 if all rings are empty at present.
  size_t Take(std::span<rte_mbuf*> mbufs);

  // Sets the fields that the receiver of the mbuf determined.
  void Recall(const rte_mbuf& mbuf, RawFrame& frame) const;

  SpreadRings& rings() { return *rings_; }
  const TapTable& taps() const { return taps_; }
  uint64_t passed_on() const { return passed_on_; }  // frames pushed to the rings of other lcores

 private:
  struct Waiting {
    std::array<rte_mbuf*, kBurst> mbufs;
    uint32_t count = 0;
  };

  std::shared_ptr<SpreadRings> rings_;
  const uint32_t lcore_;
  TapTable taps_;
  std::vector<Waiting> waiting_;  // indexed by owner
  uint32_t next_source_ = 0;
  uint64_t run_ = 0;
  bool ended_ = false;
  uint64_t passed_on_ = 0;
};

}  // namespace rocescope
