// SPDX-License-Identifier: BSD-3-Clause
// From a flow's key to its entry: linear probing over eight-octet slots, at most half full, so a
// look-up usually costs one cache line.
#pragma once

#include <cstdint>

#include "dataplane/flow/zeroed_array.h"

namespace rocescope {

class FlowIndex {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  // For at most `capacity` entries.
  explicit FlowIndex(uint32_t capacity);

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

  void Insert(uint64_t hash, uint32_t number);

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
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t number_plus_one = 0;  // 0: empty
  };

  uint64_t mask_;
  ZeroedArray<Slot> slots_;
};

}  // namespace rocescope
