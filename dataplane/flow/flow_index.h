// SPDX-License-Identifier: BSD-3-Clause
// Hash index from a flow's key to its entry: linear probing over eight-byte slots with a load of at
// most a quarter. A lookup costs one cache line, and the first slot is nearly always the right one.
// The index doubles as flows arrive, so that the lines of a few thousand flows stay in the cache.
// Growing is incremental: each new flow moves a few slots, so that no packet waits for a million
// slots to move.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dataplane/flow/zeroed_array.h"

namespace rocescope {

class FlowIndex {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  static constexpr size_t kFewestSlots = 4096;
  // Number of slots that suffice for `flows` flows without growing.
  static constexpr size_t SlotsFor(size_t flows) {
    return std::max(std::bit_ceil(flows * 4), kFewestSlots);
  }

  // `slots` must be a power of two.
  explicit FlowIndex(size_t slots = kFewestSlots) : slots_(slots), mask_(slots - 1) {}

  void Touch() { slots_.Touch(); }

  // Returns the number stored under `hash` for which `matches(number)`, or kAbsent.
  template <typename Matches>
  uint32_t Find(uint64_t hash, Matches matches) {
    const uint32_t found = FindIn(slots_, hash, matches);
    if (found != kAbsent || old_.size() == 0) return found;
    const uint32_t still = FindIn(old_, hash, matches);
    if (still != kAbsent) {
      Forget(hash, still);
      Store(hash, still);
    }
    return still;
  }

  // Returns the number that Find will most likely return, without accessing the entry.
  uint32_t Guess(uint64_t hash) const {
    const Slot slot = slots_[hash & mask_];
    return slot.tag == static_cast<uint32_t>(hash >> 32) ? slot.number_plus_one - 1 : kAbsent;
  }

  void Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

  // `hash_of(number)` must return the hash of a number stored before.
  template <typename HashOf>
  void Insert(uint64_t hash, uint32_t number, HashOf hash_of) {
    if ((size_ + 1) * 4 > slots_.size()) Grow();
    if (old_.size() > 0) MoveSome(hash_of);
    Store(hash, number);
    ++size_;
  }

  // Removes `number`, which is stored under `hash`. `hash_of(number)` must return the full hash of
  // the entries that move up to close the hole.
  template <typename HashOf>
  void Erase(uint64_t hash, uint32_t number, HashOf hash_of) {
    --size_;
    uint64_t hole = hash & mask_;
    while (slots_[hole].number_plus_one != number + 1) {
      if (slots_[hole].number_plus_one == 0) return Forget(hash, number);
      hole = (hole + 1) & mask_;
    }
    for (uint64_t at = (hole + 1) & mask_; slots_[at].number_plus_one != 0; at = (at + 1) & mask_) {
      const uint64_t home = hash_of(slots_[at].number_plus_one - 1) & mask_;
      // Moves the entry up unless its home slot is in (hole, at] modulo the table size.
      if (((at - home) & mask_) >= ((at - hole) & mask_)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = {};
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t number_plus_one = 0;  // 0: empty
  };
  // Marks a moved slot of old_, so that probing continues to the slots after it.
  static constexpr uint32_t kMoved = UINT32_MAX;
  // The next growth happens only after as many new flows as a quarter of the old slots, so moving
  // is always complete by then.
  static constexpr size_t kMovedPerFlow = 16;

  template <typename Matches>
  static uint32_t FindIn(const ZeroedArray<Slot>& slots, uint64_t hash, Matches matches) {
    const auto tag = static_cast<uint32_t>(hash >> 32);
    const uint64_t mask = slots.size() - 1;
    for (uint64_t at = hash & mask;; at = (at + 1) & mask) {
      const Slot slot = slots[at];
      if (slot.number_plus_one == 0) return kAbsent;
      if (slot.tag == tag && slot.number_plus_one != kMoved && matches(slot.number_plus_one - 1)) {
        return slot.number_plus_one - 1;
      }
    }
  }

  template <typename HashOf>
  void MoveSome(HashOf hash_of) {
    const size_t end = std::min(next_moved_ + kMovedPerFlow, old_.size());
    for (; next_moved_ < end; ++next_moved_) {
      Slot& slot = old_[next_moved_];
      if (slot.number_plus_one == 0 || slot.number_plus_one == kMoved) continue;
      const uint32_t number = slot.number_plus_one - 1;
      slot.number_plus_one = kMoved;
      Store(hash_of(number), number);
    }
    if (next_moved_ == old_.size()) old_ = ZeroedArray<Slot>(0);
  }

  void Grow();
  void Store(uint64_t hash, uint32_t number);
  // Removes `number` from old_ if it is there.
  void Forget(uint64_t hash, uint32_t number);

  ZeroedArray<Slot> slots_;
  uint64_t mask_;
  size_t size_ = 0;
  // The previous table with half as many slots, from which entries are being moved.
  ZeroedArray<Slot> old_{0};
  size_t next_moved_ = 0;
};

}  // namespace rocescope
