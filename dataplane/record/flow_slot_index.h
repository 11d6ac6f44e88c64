// SPDX-License-Identifier: BSD-3-Clause
// Where a flow is among a reader's own, by its key: eight octets for each of at most two slots a
// flow, for the keys stay where the reader has them. (A std::unordered_map takes eighty.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/record/flow_key_hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

// In each call `key_of(place)` is the key of the flow that was inserted with this place.
class FlowSlotIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  size_t size() const { return size_; }

  // kNone if it is not in.
  template <typename KeyOf>
  uint32_t Find(const FlowKey& key, KeyOf key_of) const {
    const size_t slot = SlotOf(key, key_of);
    return slot == kNowhere ? kNone : slots_[slot].place;
  }

  // A key that is not in; `place` is not kNone.
  void Insert(const FlowKey& key, uint32_t place) {
    if (4 * (size_ + 1) > 3 * slots_.size()) Grow();
    Put({.place = place, .hash = HashOf(key)});
    ++size_;
  }

  // Nothing if it is not in.
  template <typename KeyOf>
  void Erase(const FlowKey& key, KeyOf key_of) {
    size_t gap = SlotOf(key, key_of);
    if (gap == kNowhere) return;
    --size_;
    // What lies behind moves up, unless it would come to lie before its own slot.
    for (size_t i = Next(gap); slots_[i].place != kNone; i = Next(i)) {
      const size_t home = slots_[i].hash & Mask();
      if (((i - home) & Mask()) < ((i - gap) & Mask())) continue;
      slots_[gap] = slots_[i];
      gap = i;
    }
    slots_[gap] = {};
  }

 private:
  static constexpr size_t kNowhere = ~size_t{0};
  struct Slot {
    uint32_t place = kNone;  // kNone: free
    uint32_t hash = 0;
  };

  static uint32_t HashOf(const FlowKey& key) { return static_cast<uint32_t>(FlowKeyHash()(key)); }
  size_t Mask() const { return slots_.size() - 1; }
  size_t Next(size_t slot) const { return (slot + 1) & Mask(); }

  template <typename KeyOf>
  size_t SlotOf(const FlowKey& key, KeyOf key_of) const {
    if (slots_.empty()) return kNowhere;
    const uint32_t hash = HashOf(key);
    for (size_t i = hash & Mask(); slots_[i].place != kNone; i = Next(i)) {
      if (slots_[i].hash == hash && key_of(slots_[i].place) == key) return i;
    }
    return kNowhere;
  }

  void Put(const Slot& one) {
    size_t i = one.hash & Mask();
    while (slots_[i].place != kNone) i = Next(i);
    slots_[i] = one;
  }

  void Grow() {
    const std::vector<Slot> old = std::exchange(slots_, {});
    slots_.resize(old.empty() ? 16 : 2 * old.size());
    for (const Slot& one : old) {
      if (one.place != kNone) Put(one);
    }
  }

  std::vector<Slot> slots_;  // a power of two, a quarter free
  size_t size_ = 0;
};

}  // namespace rocescope
