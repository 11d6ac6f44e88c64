// SPDX-License-Identifier: BSD-3-Clause
// A direct-mapped cache that finds the tap of a frame by its ERSPAN mark, the fields of an ERSPAN
// III header that identify the tap (erspan_mark.h): one probe, one comparison. A new mark replaces
// another in the same slot. TapCache holds all taps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/decode/erspan_mark.h"
#include "dataplane/pipeline/mirror_stream.h"
#include "dataplane/record/record.h"

namespace rocescope {

class ErspanMarkCache {
 public:
  struct Slot {
    uint64_t who = 0;  // including the capture; 0: free
    MirrorFollower* stream = nullptr;
    uint32_t where = 0;
    TapId tap = 0;
    ClockKind clock = 0;
  };

  ErspanMarkCache() : slots_(kSlots) {}

  // Returns null if the mark is not in the cache.
  const Slot* Find(TapId capture, const ErspanMark& mark) const {
    const uint64_t who = mark.who | capture;
    const Slot& slot = slots_[PlaceOf(who, mark.where)];
    return slot.who == who && slot.where == mark.where ? &slot : nullptr;
  }

  void Remember(TapId capture, const ErspanMark& mark, const Slot& found) {
    if (mark.HasLongPort()) return;
    Slot& slot = slots_[PlaceOf(mark.who | capture, mark.where)];
    slot = found;
    slot.who = mark.who | capture;
    slot.where = mark.where;
  }

 private:
  static constexpr int kSlotBits = 12;  // pages are allocated as taps appear
  static constexpr size_t kSlots = size_t{1} << kSlotBits;

  static size_t PlaceOf(uint64_t who, uint32_t where) {
    return (who * 0x9e3779b97f4a7c15ull + where * 0xd6e8feb86659fd93ull) >> (64 - kSlotBits);
  }

  std::vector<Slot> slots_;
};

}  // namespace rocescope
