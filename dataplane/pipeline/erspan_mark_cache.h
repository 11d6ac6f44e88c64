// SPDX-License-Identifier: BSD-3-Clause
// Marks of ERSPAN headers that were seen, and what they turned out to be: one probe, one
// comparison. A mark that falls on another's place takes it; what is not here, TapCache knows.
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
    uint64_t who = 0;  // with the capture; 0: free
    MirrorFollower* stream = nullptr;
    uint32_t where = 0;
    TapId tap = 0;
    ClockKind clock = 0;
  };

  ErspanMarkCache() : slots_(kSlots) {}

  // Null if it is not here.
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
  static constexpr int kSlotBits = 12;  // touched as taps come
  static constexpr size_t kSlots = size_t{1} << kSlotBits;

  static size_t PlaceOf(uint64_t who, uint32_t where) {
    return (who * 0x9e3779b97f4a7c15ull + where * 0xd6e8feb86659fd93ull) >> (64 - kSlotBits);
  }

  std::vector<Slot> slots_;
};

}  // namespace rocescope
