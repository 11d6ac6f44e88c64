// SPDX-License-Identifier: BSD-3-Clause
// From a flow's key to its entry: linear probing over eight-octet slots, at most a quarter full, so
// that a look-up costs one cache line and the first slot is nearly always the right one; doubled as
// flows come, so that the lines of a few thousand flows stay in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "dataplane/flow/zeroed_array.h"

namespace rocescope {

class FlowIndex {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  // `slots`: a power of two.
  explicit FlowIndex(size_t slots = 4096) : slots_(slots), mask_(slots - 1) {}

  // The number stored under `hash` for which `matches(number)`, or kAbsent.
  template <typename Matches>
  uint32_t Find(uint64_t hash, Matches matches) const {
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot.number_plus_one == 0) return kAbsent;
      if (slot.tag == tag && matches(slot.number_plus_one - 1)) return slot.number_plus_one - 1;
    }
  }

  // The number that Find will most likely return, without looking at the entry.
  uint32_t Guess(uint64_t hash) const {
    const Slot slot = slots_[hash & mask_];
    return slot.tag == static_cast<uint32_t>(hash >> 32) ? slot.number_plus_one - 1 : kAbsent;
  }

  void Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

  // `hash_of(number)` tells the hashes of those stored before.
  template <typename HashOf>
  void Insert(uint64_t hash, uint32_t number, HashOf hash_of) {
    if ((size_ + 1) * 4 > slots_.size()) {
      ZeroedArray<Slot> old = std::exchange(slots_, ZeroedArray<Slot>(slots_.size() * 2));
      mask_ = slots_.size() - 1;
      for (size_t i = 0; i < old.size(); ++i) {
        if (old[i].number_plus_one == 0) continue;
        const uint32_t stored = old[i].number_plus_one - 1;
        Store(hash_of(stored), stored);
      }
    }
    Store(hash, number);
    ++size_;
  }

  // Takes `number`, which is stored under `hash`, out; `hash_of(number)` tells the full hash of
  // those that move up to close the hole.
  template <typename HashOf>
  void Erase(uint64_t hash, uint32_t number, HashOf hash_of) {
    uint64_t hole = hash & mask_;
    while (slots_[hole].number_plus_one != number + 1) hole = (hole + 1) & mask_;
    for (uint64_t at = (hole + 1) & mask_; slots_[at].number_plus_one != 0; at = (at + 1) & mask_) {
      const uint64_t home = hash_of(slots_[at].number_plus_one - 1) & mask_;
      // Moves up unless its home lies behind the hole: (hole, at] on the circle.
      if (((at - home) & mask_) >= ((at - hole) & mask_)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = {};
    --size_;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t number_plus_one = 0;  // 0: empty
  };

  void Store(uint64_t hash, uint32_t number);

  ZeroedArray<Slot> slots_;
  uint64_t mask_;
  size_t size_ = 0;
};

}  // namespace rocescope
