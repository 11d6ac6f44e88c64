// SPDX-License-Identifier: BSD-3-Clause
// Optimal one-to-one assignment. Internal to this folder.
#pragma once

#include <span>
#include <vector>

namespace rocescope {

// `weights` has one row for each left element, all of the same length. An entry of 0 forbids the
// pair; all others are positive. Returns for each row its column or -1, such that the sum of the
// weights is as large as possible. Deterministic; of equally good columns a single row gets the
// first. Takes O(rows^2 * (rows + columns)).
std::vector<int> AssignByWeight(std::span<const std::vector<double>> weights);

}  // namespace rocescope
