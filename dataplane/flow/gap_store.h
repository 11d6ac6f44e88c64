// SPDX-License-Identifier: BSD-3-Clause
// PSNs that a tap missed and that lie further back than a tracker's window: go-back-N fills a gap
// when hundreds of later packets have passed. One cache line for each sequence that misses some,
// shared by number; a newer owner takes an older one's place.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/qpn.h"
#include "dataplane/flow/zeroed_array.h"

namespace rocescope {

class GapStore {
  static constexpr size_t kSets = 8192;
  static constexpr uint32_t kRanges = 7;

  struct Range {
    uint32_t first;
    uint32_t count;
  };
  struct alignas(64) Set {
    uint32_t owner_plus_one;  // 0: nobody
    uint32_t used;
    std::array<Range, kRanges> ranges;  // oldest first
  };
  static_assert(sizeof(Set) == 64);

 public:
  GapStore() : sets_(kSets) {}

  void Touch() { sets_.Touch(); }

  // One sequence's part of the memory, as PsnTracker wants it. `owner`: a small number of its own.
  class Of {
   public:
    Of(GapStore& memory, uint32_t owner)
        : set_(memory.sets_[owner % kSets]), owner_plus_one_(owner + 1) {}

    void Add(uint32_t first, uint32_t count) {
      if (set_.owner_plus_one != owner_plus_one_) {
        set_.owner_plus_one = owner_plus_one_;
        set_.used = 0;
      }
      if (set_.used > 0) {
        Range& last = set_.ranges[set_.used - 1];
        if (((last.first + last.count) & k24BitMask) == first) {
          last.count += count;
          return;
        }
      }
      if (set_.used == kRanges) Remove(0);  // the oldest
      set_.ranges[set_.used++] = {.first = first, .count = count};
    }

    bool Fill(uint32_t psn) {
      if (set_.owner_plus_one != owner_plus_one_) return false;
      for (uint32_t i = 0; i < set_.used; ++i) {
        Range& range = set_.ranges[i];
        const uint32_t before = (psn - range.first) & k24BitMask;
        if (before >= range.count) continue;
        const Range rest = {.first = (psn + 1) & k24BitMask, .count = range.count - before - 1};
        range.count = before;
        if (before == 0) {
          range = rest;
          if (rest.count == 0) Remove(i);
        } else if (rest.count > 0) {
          Insert(i + 1, rest);
        }
        return true;
      }
      return false;
    }

    void Forget() {
      if (set_.owner_plus_one == owner_plus_one_) set_.used = 0;
    }

   private:
    void Remove(uint32_t at) {
      std::copy(set_.ranges.begin() + at + 1, set_.ranges.begin() + set_.used,
                set_.ranges.begin() + at);
      --set_.used;
    }
    // In a full set the oldest gives way.
    void Insert(uint32_t at, const Range& range) {
      if (set_.used == kRanges) {
        Remove(0);
        --at;
      }
      std::copy_backward(set_.ranges.begin() + at, set_.ranges.begin() + set_.used,
                         set_.ranges.begin() + set_.used + 1);
      set_.ranges[at] = range;
      ++set_.used;
    }

    Set& set_;
    uint32_t owner_plus_one_;
  };

 private:
  ZeroedArray<Set> sets_;
};

}  // namespace rocescope
