// SPDX-License-Identifier: BSD-3-Clause
// Where a reader of records keeps what it knows of a flow, by the records' hint: saves the look-up
// by key for all but a flow's first record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/record/capacity.h"

namespace rocescope {

// Starts loading the first cache lines of what a reader will soon touch.
template <size_t kLines>
void PrefetchLines(const void* at) {
  constexpr size_t kLine = 64;
  const auto* bytes = static_cast<const char*>(at);
  for (size_t i = 0; i < kLines; ++i) __builtin_prefetch(bytes + i * kLine);
}

// A guess is never an identity: the caller compares the keys before it believes one.
class HintCache {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t Guess(uint32_t hint) const { return hint < places_.size() ? places_[hint] : kNone; }

  void Remember(uint32_t hint, uint32_t place) {
    if (hint >= kFlowCapacity) return;
    if (hint >= places_.size()) places_.resize(size_t{hint} + hint / 2 + 1, kNone);
    places_[hint] = place;
  }

 private:
  std::vector<uint32_t> places_;
};

}  // namespace rocescope
