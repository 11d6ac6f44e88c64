// SPDX-License-Identifier: BSD-3-Clause
// Agreement of two partitions of the same items, corrected for chance.
#pragma once

#include <cstdint>
#include <span>

namespace rocescope {

// Hubert and Arabie, Comparing partitions, Journal of Classification 2, 1985, pp. 193-218: 1 for
// identical partitions, 0 for chance level, below 0 for worse than chance. `a` and `b` are parallel
// arrays with the label of each item in each partition. Returns 1 if both partitions are one
// cluster or both are single items. If the truth is one cluster, any other answer has an index of
// 0.
double AdjustedRandIndex(std::span<const uint32_t> a, std::span<const uint32_t> b);

}  // namespace rocescope
