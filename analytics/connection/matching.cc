// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/matching.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "analytics/connection/row_weights.h"
#include "analytics/connection/tap_view.h"

namespace rocescope {
namespace {

constexpr double kCandidatePosterior = 0.01;  // below, a candidate is not worth naming
// Pairs that are certain free others of their rivals, those free further ones, and so on; beyond a
// few steps each rests on a chain of uncertain ones.
constexpr int kRounds = 4;

// The most that so many independent observations are worth. The first one may as well be by chance;
// each that agrees with it makes that four times less likely.
double MostAfter(double observations) {
  return observations < 1 ? observations / 2 : 1 - 2 * std::pow(0.25, observations);
}

double LogLikelihood(double hits, double trials) {
  const double misses = trials - hits;
  return (hits > 0 ? hits * std::log(hits / trials) : 0) +
         (misses > 0 ? misses * std::log(misses / trials) : 0);
}

class Matcher {
 public:
  Matcher(const std::vector<MatchRow>& side0, const std::vector<MatchRow>& side1)
      : sides_{&side0, &side1}, taken_{Assignment(side0.size()), Assignment(side1.size())} {
    CollectCells();
    for (int side = 0; side < 2; ++side) {
      most_[side] = MostObservations(*sides_[side], sides_[1 - side]->size());
    }
  }

  Matching Run() {
    for (int round = 0; round < kRounds; ++round) {
      WeighRows();
      ScoreCells();
      if (!Accept()) break;
    }
    return Result();
  }

 private:
  // Two rows of which at least one claims the other.
  struct Cell {
    uint32_t index[2];
    double observations = 0;  // of RETH echo and known pairs
    double odds = 0;
    double confidence = 0;
  };

  void CollectCells() {
    for (int side = 0; side < 2; ++side) {
      for (uint32_t i = 0; i < sides_[side]->size(); ++i) {
        for (const PartnerClaim& claim : (*sides_[side])[i].claims) {
          Cell cell{.index = {i, claim.partner}, .observations = claim.observations};
          if (side == 1) std::swap(cell.index[0], cell.index[1]);
          cells_.push_back(cell);
        }
      }
    }
    // Both rows of a pair may claim it: the one that observed more stands.
    std::sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) {
      return std::tuple(a.index[0], a.index[1], b.observations) <
             std::tuple(b.index[0], b.index[1], a.observations);
    });
    const auto same = [](const Cell& a, const Cell& b) {
      return a.index[0] == b.index[0] && a.index[1] == b.index[1];
    };
    cells_.erase(std::unique(cells_.begin(), cells_.end(), same), cells_.end());
  }

  void WeighRows() {
    for (int side = 0; side < 2; ++side) {
      const Assignment& others = taken_[1 - side];
      double free_total = 0;
      for (const double confidence : others.confidence) free_total += 1 - confidence;
      weights_[side].clear();
      for (uint32_t i = 0; i < sides_[side]->size(); ++i) {
        weights_[side].push_back(WeighRow(*sides_[side], i, others, free_total));
      }
    }
  }

  // Log odds of the cell in the row's own view; 0 if the row has nothing to say.
  double LogOdds(int side, const Cell& cell) const {
    const MatchRow& row = (*sides_[side])[cell.index[side]];
    const RowWeights& w = weights_[side][cell.index[side]];
    if (!w.informative) return 0;
    double weight = w.other;
    for (size_t i = 0; i < row.claims.size(); ++i) {
      if (row.claims[i].partner == cell.index[1 - side]) weight = w.claims[i];
    }
    weight = std::max(weight, 1e-12);
    return std::log(weight / std::max(w.total - weight, 1e-12));
  }

  void ScoreCells() {
    std::vector<double> sums[2];
    for (int side = 0; side < 2; ++side) sums[side].assign(sides_[side]->size(), 0);
    for (Cell& cell : cells_) {
      const double a = LogOdds(0, cell);
      const double b = LogOdds(1, cell);
      // Two views that agree share evidence (a RETH echo stands in both): the stronger one counts.
      const double both = a > 0 && b > 0 ? std::max(a, b) : a < 0 && b < 0 ? std::min(a, b) : a + b;
      cell.odds = std::exp(std::clamp(both, -kMaximumLog, kMaximumLog));
      sums[0][cell.index[0]] += cell.odds;
      sums[1][cell.index[1]] += cell.odds;
    }
    for (Cell& cell : cells_) {
      const double alternatives = sums[0][cell.index[0]] + sums[1][cell.index[1]] - 2 * cell.odds;
      const double posterior = cell.odds / (1 + cell.odds + std::max(0.0, alternatives));
      cell.confidence = posterior * MostAfter(cell.observations + PsnObservations(cell));
    }
  }

  // Independent ones, of both rows. The two directions of a pair that counts from 0 see the same
  // groups: the better view stands for both.
  double PsnObservations(const Cell& cell) const {
    double sum = 0;
    double from_zero = 0;
    for (int side = 0; side < 2; ++side) {
      const uint32_t i = cell.index[side];
      const MatchRow& row = (*sides_[side])[i];
      const double hits =
          DistinctHits(row, i, weights_[side][i], taken_[1 - side], cell.index[1 - side]);
      if (row.zero_based) {
        from_zero = std::max(from_zero, std::min(most_[side][i], hits));
      } else {
        sum += hits;
      }
    }
    return sum + from_zero;
  }

  // Returns whether anything changed.
  bool Accept() {
    std::vector<const Cell*> order;
    for (const Cell& cell : cells_) {
      if (cell.confidence >= kPairedConfidence) order.push_back(&cell);
    }
    std::sort(order.begin(), order.end(), [](const Cell* a, const Cell* b) {
      return a->confidence != b->confidence ? a->confidence > b->confidence : a < b;
    });
    Assignment next[2] = {Assignment(sides_[0]->size()), Assignment(sides_[1]->size())};
    for (const Cell* cell : order) {
      const auto [row0, row1] = cell->index;
      if (next[0].confidence[row0] > 0 || next[1].confidence[row1] > 0) continue;
      for (int side = 0; side < 2; ++side) {
        next[side].confidence[cell->index[side]] = cell->confidence;
        next[side].partner[cell->index[side]] = cell->index[1 - side];
      }
    }
    const bool changed = next[0] != taken_[0] || next[1] != taken_[1];
    for (int side = 0; side < 2; ++side) taken_[side] = std::move(next[side]);
    return changed;
  }

  Matching Result() const {
    Matching result;
    for (int side = 0; side < 2; ++side) {
      result.sides[side].resize(sides_[side]->size());
      for (uint32_t i = 0; i < sides_[side]->size(); ++i) {
        result.sides[side][i].partner = taken_[side].partner[i];
        result.sides[side][i].confidence = taken_[side].confidence[i];
      }
    }
    std::vector<double> sums[2];
    for (int side = 0; side < 2; ++side) sums[side].assign(sides_[side]->size(), 0);
    for (const Cell& cell : cells_) {
      for (int side = 0; side < 2; ++side) sums[side][cell.index[side]] += cell.odds;
    }
    for (const Cell& cell : cells_) {
      for (int side = 0; side < 2; ++side) {
        RowMatch& row = result.sides[side][cell.index[side]];
        const RowWeights& w = weights_[side][cell.index[side]];
        const MatchRow& from = (*sides_[side])[cell.index[side]];
        double posterior = cell.odds / (1 + sums[side][cell.index[side]]);
        for (size_t i = 0; w.informative && i < from.claims.size(); ++i) {
          if (from.claims[i].partner == cell.index[1 - side]) posterior = w.claims[i] / w.total;
        }
        if (posterior < kCandidatePosterior) continue;
        row.candidates.push_back({.partner = cell.index[1 - side], .posterior = posterior});
      }
    }
    for (std::vector<RowMatch>& rows : result.sides) {
      for (RowMatch& row : rows) {
        std::sort(row.candidates.begin(), row.candidates.end(),
                  [](const MatchCandidate& a, const MatchCandidate& b) {
                    return a.posterior != b.posterior ? a.posterior > b.posterior
                                                      : a.partner < b.partner;
                  });
        if (row.candidates.size() > kMaximumCandidates) row.candidates.resize(kMaximumCandidates);
      }
    }
    return result;
  }

  const std::vector<MatchRow>* sides_[2];
  std::vector<Cell> cells_;      // in order of their indexes
  std::vector<double> most_[2];  // by row: observations that PSN echo from 0 on is worth
  std::vector<RowWeights> weights_[2];
  Assignment taken_[2];
};

}  // namespace

double OddsAgainst(double hits_a, double trials_a, double hits_b, double trials_b) {
  if (trials_a <= 0 || trials_b <= 0) return 1;
  const double gain = LogLikelihood(hits_a, trials_a) + LogLikelihood(hits_b, trials_b) -
                      LogLikelihood(hits_a + hits_b, trials_a + trials_b);
  const double penalty = std::log(std::min(trials_a, trials_b)) + 1;
  const double apart = std::exp(std::min(gain - penalty, kMaximumLog));
  const double against = std::exp(-penalty);
  const double higher = 1 + (hits_a * trials_b >= hits_b * trials_a ? apart : against);
  const double lower = 1 + (hits_b * trials_a >= hits_a * trials_b ? apart : against);
  return lower / higher;
}

Matching MatchFlows(const std::vector<MatchRow>& side0, const std::vector<MatchRow>& side1) {
  return Matcher(side0, side1).Run();
}

}  // namespace rocescope
