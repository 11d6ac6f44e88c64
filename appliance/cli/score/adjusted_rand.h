// SPDX-License-Identifier: BSD-3-Clause
// How far two partitions of the same items agree, corrected for chance.
#pragma once

#include <cstdint>
#include <span>

namespace rocescope {

// Hubert and Arabie, Comparing partitions, Journal of Classification 2, 1985, pp. 193-218: 1 where
// the partitions are the same, 0 as by chance, below 0 where worse. `a` and `b` are parallel: the
// label of each item in either partition. 1 where there is nothing to tell apart: both are one
// cluster, or both are single items. Of one true cluster any other answer has 0.
double AdjustedRandIndex(std::span<const uint32_t> a, std::span<const uint32_t> b);

}  // namespace rocescope
