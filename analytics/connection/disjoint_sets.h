// SPDX-License-Identifier: BSD-3-Clause
// Union-find with path halving (Tarjan, van Leeuwen: Worst-case analysis of set union algorithms,
// 1984).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace rocescope {

class DisjointSets {
 public:
  explicit DisjointSets(size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }

  // Returns the smallest element of the set, independent of the order of joins.
  uint32_t RootOf(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(uint32_t i, uint32_t j) {
    const uint32_t a = RootOf(i);
    const uint32_t b = RootOf(j);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

}  // namespace rocescope
