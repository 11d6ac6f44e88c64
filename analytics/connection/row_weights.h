// SPDX-License-Identifier: BSD-3-Clause
// What one flow alone says of its possible partners, as relative weights. See matching.h for the
// hypotheses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/connection/matching.h"

namespace rocescope {

inline constexpr double kMaximumLog = 40;  // of odds: exp stays finite, sums keep their precision

// Who is taken on one side of the host pair.
struct Assignment {
  std::vector<uint32_t> partner;   // by row; UINT32_MAX: nobody's
  std::vector<double> confidence;  // 0: free

  explicit Assignment(size_t rows) : partner(rows, UINT32_MAX), confidence(rows, 0) {}
  // How free `row` is for `wanted` on the other side.
  double FreeFor(uint32_t row, uint32_t wanted) const {
    return partner[row] == wanted ? 1 : 1 - confidence[row];
  }
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

struct RowWeights {
  bool informative = false;
  std::vector<double> claims{};  // parallel to MatchRow::claims
  double other = 0;              // a single visible partner without a claim
  double total = 0;              // with everybody else and the unseen partner
  double distinct = 0;           // hits of the best above the next
  double distinct_free = 0;      // above the next that is not paired elsewhere
  size_t best = 0;
};

// `free_total` is how free the other side's rows are, summed.
RowWeights WeighRow(const std::vector<MatchRow>& own, uint32_t index, const Assignment& others,
                    double free_total);

// Responses that speak for the row's claim on `partner` and for nobody else.
double DistinctHits(const MatchRow& row, uint32_t index, const RowWeights& weights,
                    const Assignment& others, uint32_t partner);

}  // namespace rocescope
