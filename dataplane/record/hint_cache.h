// SPDX-License-Identifier: BSD-3-Clause
// Maps the flow hints of records to the places at which a reader keeps its state of the flows. It
// saves the lookup by key for all records of a flow except the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/record/capacity.h"

namespace rocescope {

// Prefetches the first cache lines of an object that the reader will soon access.
template <size_t kLines>
void PrefetchLines(const void* at) {
  constexpr size_t kLine = 64;
  const auto* bytes = static_cast<const char*>(at);
  for (size_t i = 0; i < kLines; ++i) __builtin_prefetch(bytes + i * kLine);
}

// A hint can be wrong: the caller must compare the keys before it uses the place.
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
