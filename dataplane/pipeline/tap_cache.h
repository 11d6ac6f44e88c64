// SPDX-License-Identifier: BSD-3-Clause
// Hash index from a mirror header to its tap: linear probing over 32-byte slots with a load of at
// most one half. It doubles as taps appear, so that a lookup costs one cache line. The hash has a
// random key per process, so that a sender of headers cannot cause collisions on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "dataplane/decode/frame.h"
#include "dataplane/record/record.h"

namespace rocescope {

class TapCache {
 public:
  struct Slot {
    IpAddress source;
    uint64_t place = 0;  // capture, session, port index
    uint32_t what = 0;   // kind, direction, whether there is a port index; 0: free slot
    TapId tap = 0;
    uint16_t stream = 0;  // index of the mirror session in TapTable::streams_
  };
  static_assert(sizeof(Slot) == 32);

  TapCache() : slots_(64) {
    std::random_device random;
    const auto draw = [&random] { return uint64_t{random()} << 32 | random(); };
    place_key_ = draw();
    source_key_ = draw();
    rest_key_ = draw() | 1;
  }

  // Returns null if there is no such tap.
  const Slot* Find(TapId capture, const MirrorInfo& mirror) const {
    const Slot& slot = slots_[PositionOf(Describe(capture, mirror))];
    return slot.what != 0 ? &slot : nullptr;
  }

  // The place must not be in the cache yet.
  void Insert(TapId capture, const MirrorInfo& mirror, TapId tap, uint16_t stream) {
    if (++used_ * 2 > slots_.size()) {
      const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
      for (const Slot& slot : old) {
        if (slot.what != 0) slots_[PositionOf(slot)] = slot;
      }
    }
    Slot slot = Describe(capture, mirror);
    slot.tap = tap;
    slot.stream = stream;
    slots_[PositionOf(slot)] = slot;
  }

 private:
  static Slot Describe(TapId capture, const MirrorInfo& mirror) {
    return {.source = mirror.source,
            .place = uint64_t{capture} << 48 | uint64_t{mirror.session} << 32 | mirror.port_index,
            .what = static_cast<uint32_t>(mirror.kind) |
                    static_cast<uint32_t>(mirror.direction) << 8 |
                    static_cast<uint32_t>(mirror.has_port_index) << 16};
  }

  // Position of `key`, or the position at which to insert it.
  size_t PositionOf(const Slot& key) const {
    const size_t mask = slots_.size() - 1;
    const uint64_t hash = MultiplyAndFold(key.source.low ^ source_key_, key.place ^ place_key_) +
                          (key.source.high + key.what) * rest_key_;
    for (size_t at = hash >> 32 & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.what == 0 || (slot.place == key.place && slot.source.low == key.source.low &&
                             slot.source.high == key.source.high && slot.what == key.what)) {
        return at;
      }
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t used_ = 0;
  uint64_t place_key_ = 0;
  uint64_t source_key_ = 0;
  uint64_t rest_key_ = 0;
};

}  // namespace rocescope
