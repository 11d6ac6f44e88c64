// SPDX-License-Identifier: BSD-3-Clause
// Relative weights of one flow's possible partners. See matching.h for the hypotheses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/connection/matching.h"

namespace rocescope {

// Limit of log odds: exp stays finite and sums keep their precision.
inline constexpr double kMaximumLog = 40;

// The partners already assigned on one side of the host pair.
struct Assignment {
  std::vector<uint32_t> partner;   // indexed by row; UINT32_MAX: unassigned
  std::vector<double> confidence;  // 0: unassigned

  explicit Assignment(size_t rows) : partner(rows, UINT32_MAX), confidence(rows, 0) {}
  // Returns how available `row` is as a partner for `wanted` on the other side.
  double FreeFor(uint32_t row, uint32_t wanted) const {
    return partner[row] == wanted ? 1 : 1 - confidence[row];
  }
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

struct RowWeights {
  bool informative = false;
  std::vector<double> claims{};  // parallel to MatchRow::claims
  double other = 0;              // weight of one visible partner without a claim
  double total = 0;              // sum of all weights, including the unobserved partner
  double distinct = 0;           // hits of the best claim minus those of the next
  // Hits of the best claim minus those of the next that is not assigned elsewhere.
  double distinct_free = 0;
  size_t best = 0;
};

// `free_total` is the summed availability of the other side's rows.
RowWeights WeighRow(const std::vector<MatchRow>& own, uint32_t index, const Assignment& others,
                    double free_total);

// Returns the number of responses that support only the row's claim on `partner`.
double DistinctHits(const MatchRow& row, uint32_t index, const RowWeights& weights,
                    const Assignment& others, uint32_t partner);

}  // namespace rocescope
