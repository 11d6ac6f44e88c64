// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/adjusted_rand.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rocescope {
namespace {

// Number of pairs among n items.
double Pairs(uint64_t n) { return static_cast<double>(n) * (static_cast<double>(n) - 1) / 2; }

template <typename Counts>
double SumOfPairs(const Counts& counts) {
  double sum = 0;
  for (const auto& [label, count] : counts) sum += Pairs(count);
  return sum;
}

}  // namespace

double AdjustedRandIndex(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  const size_t items = std::min(a.size(), b.size());
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> both;
  std::map<uint32_t, uint64_t> in_a;
  std::map<uint32_t, uint64_t> in_b;
  for (size_t i = 0; i < items; ++i) {
    ++both[{a[i], b[i]}];
    ++in_a[a[i]];
    ++in_b[b[i]];
  }
  if (items < 2) return 1;
  const double of_a = SumOfPairs(in_a);
  const double of_b = SumOfPairs(in_b);
  const double expected = of_a * of_b / Pairs(items);
  const double most = (of_a + of_b) / 2;
  if (most <= expected) return 1;
  return (SumOfPairs(both) - expected) / (most - expected);
}

}  // namespace rocescope
