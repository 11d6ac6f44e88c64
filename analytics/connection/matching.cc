// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/matching.h"

#include <algorithm>
#include <cmath>

namespace rocescope {
namespace {

constexpr double kUnseenPrior = 0.05;     // that a flow's partner was never seen
constexpr double kUnknownLockStep = 0.5;  // with a single flow to compare, lock step is unknown
constexpr double kSuspectWeight = 0.5;    // of a partner elsewhere whose PSNs are near
constexpr double kRemoteWeight = 0.05;    // and of one whose PSNs are not
constexpr double kZeroBasedDoubt = 6;     // of a lone zero-based pair that nothing compares with
constexpr double kMaximumLog = 40;
constexpr double kCandidatePosterior = 0.01;
constexpr int kRounds = 4;

double LogLikelihood(double hits, double trials) {
  const double misses = trials - hits;
  return (hits > 0 ? hits * std::log(hits / trials) : 0) +
         (misses > 0 ? misses * std::log(misses / trials) : 0);
}

// The candidates of one row as relative weights.
struct Weights {
  bool informative = false;
  std::vector<double> claims;  // parallel to MatchRow::claims
  double other = 0;            // a single visible partner without a claim
  double total = 0;            // with everybody else and the unseen partner
  double distinct = 0;         // hits of the best above the next
  double distinct_free = 0;    // above the next that is not paired elsewhere
  size_t best = 0;
};

class Matcher {
 public:
  Matcher(const std::vector<MatchRow>& side0, const std::vector<MatchRow>& side1)
      : sides_{&side0, &side1} {
    for (int side = 0; side < 2; ++side) {
      taken_by_[side].assign(sides_[side]->size(), UINT32_MAX);
      taken_[side].assign(sides_[side]->size(), 0);
      weights_[side].resize(sides_[side]->size());
    }
    CollectCells();
  }

  Matching Run() {
    for (int round = 0; round < kRounds; ++round) {
      WeighRows();
      ScoreCells();
      Accept();
    }
    return Result();
  }

 private:
  struct Cell {
    uint32_t index[2];  // rows
    double odds = 0;
    double confidence = 0;
    double observations = 0;  // of RETH echo and known pairs
  };

  void CollectCells() {
    for (int side = 0; side < 2; ++side) {
      for (uint32_t i = 0; i < sides_[side]->size(); ++i) {
        for (const PartnerClaim& claim : (*sides_[side])[i].claims) {
          Cell cell{.index = {i, claim.partner}};
          if (side == 1) std::swap(cell.index[0], cell.index[1]);
          cell.observations = claim.observations;
          cells_.push_back(cell);
        }
      }
    }
    std::sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) {
      return std::pair(a.index[0], a.index[1]) < std::pair(b.index[0], b.index[1]);
    });
    size_t kept = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (kept > 0 && cells_[kept - 1].index[0] == cells_[i].index[0] &&
          cells_[kept - 1].index[1] == cells_[i].index[1]) {
        cells_[kept - 1].observations =
            std::max(cells_[kept - 1].observations, cells_[i].observations);
      } else {
        cells_[kept++] = cells_[i];
      }
    }
    cells_.resize(kept);
  }

  // How free `partner` on the other side is for `row`.
  double FreeFor(int side, uint32_t row, uint32_t partner) const {
    const int other = 1 - side;
    return taken_by_[other][partner] == row ? 1 : 1 - taken_[other][partner];
  }

  // How often responses of *other* rows hit the same partner: the rate of coincidence.
  double CoincidenceOf(int side, uint32_t row, uint32_t partner) const {
    double rate = -1;
    const std::vector<MatchRow>& rows = *sides_[side];
    for (uint32_t i = 0; i < rows.size(); ++i) {
      if (i == row || rows[i].trials == 0 || rows[i].tap != rows[row].tap) continue;
      double hits = 0;
      for (const PartnerClaim& claim : rows[i].claims) {
        if (claim.partner == partner) hits = claim.hits;
      }
      rate = std::max(rate, (hits + 0.25) / (rows[i].trials + 0.5));
    }
    return rate < 0 ? kUnknownLockStep : rate;
  }

  void WeighRows() {
    for (int side = 0; side < 2; ++side) {
      const double partners = static_cast<double>(sides_[1 - side]->size());
      double free_total = 0;
      for (const double taken : taken_[1 - side]) free_total += 1 - taken;
      for (uint32_t i = 0; i < sides_[side]->size(); ++i) {
        weights_[side][i] = Weigh(side, i, partners, free_total);
      }
    }
  }

  Weights Weigh(int side, uint32_t index, double partners, double free_total) const {
    const MatchRow& row = (*sides_[side])[index];
    Weights w;
    w.claims.resize(row.claims.size());
    w.informative = row.trials > 0;
    double first = 0;
    double second = 0;
    double second_free = 0;
    for (size_t i = 0; i < row.claims.size(); ++i) {
      w.informative |= row.claims[i].log_evidence > 0;
      if (row.claims[i].hits > row.claims[w.best].hits) w.best = i;
    }
    double claimed_free = 0;
    for (size_t i = 0; i < row.claims.size(); ++i) {
      const double free = FreeFor(side, index, row.claims[i].partner);
      claimed_free += free;
      if (i == w.best) continue;
      second = std::max<double>(second, row.claims[i].hits);
      if (free > 0.5) second_free = std::max<double>(second_free, row.claims[i].hits);
    }
    double best_trials = row.trials;
    if (!row.claims.empty()) {
      first = row.claims[w.best].hits;
      best_trials = row.claims[w.best].trials;
    }

    const bool tried = row.trials > 0;
    const double visible =
        tried ? std::max<double>(row.visible, static_cast<double>(row.claims.size())) : partners;
    // The rate at which somebody who is not the partner hits.
    double coincidence = 1;
    if (tried) {
      coincidence = visible > 1 ? std::min(1.0, (second + 0.25) / (best_trials + 0.5))
                    : first > 0 ? CoincidenceOf(side, index, row.claims[w.best].partner)
                                : kUnknownLockStep;
      coincidence += (1 - coincidence) * std::pow(0.1, first);
    }
    // How well the best one's hits go with its only being in step with the partner.
    double in_step = coincidence;
    if (tried && visible > 1 && first > 0) {
      in_step = std::max(0.05 * coincidence, OddsAgainst(first, best_trials, second, best_trials));
    }
    w.other = tried ? OddsAgainst(first, best_trials, 0, row.trials) : 1;
    for (size_t i = 0; i < row.claims.size(); ++i) {
      const PartnerClaim& claim = row.claims[i];
      const double psn =
          !tried || i == w.best ? 1 : OddsAgainst(first, best_trials, claim.hits, claim.trials);
      w.claims[i] = psn * std::exp(std::min(claim.log_evidence, kMaximumLog)) *
                    std::max(1e-6, FreeFor(side, index, claim.partner));
      w.total += w.claims[i];
    }
    const double unclaimed = std::max(0.0, partners - static_cast<double>(row.claims.size()));
    if (unclaimed > 0) {
      const double free = std::clamp((free_total - claimed_free) / unclaimed, 0.0, 1.0);
      const double seen = std::min(unclaimed, visible - static_cast<double>(row.claims.size()));
      const double suspects = std::min<double>(row.suspects, unclaimed - seen);
      w.total += free * (seen * w.other + suspects * std::max(kSuspectWeight, in_step) +
                         (unclaimed - seen - suspects) * std::min(kRemoteWeight, in_step));
      w.other *= free;
    }
    w.total += UnseenWeight(side, row, partners, in_step, first, best_trials);
    const double certainty = visible > 1 ? 1 : 1 - coincidence;
    w.distinct = (first - second) * certainty;
    w.distinct_free = (first - second_free) * certainty;
    return w;
  }

  double UnseenWeight(int side, const MatchRow& row, double partners, double in_step, double hits,
                      double trials) const {
    const double own = static_cast<double>(sides_[side]->size());
    const double prior = std::clamp((own - partners) / own, kUnseenPrior, 0.9);
    double weight = prior / (1 - prior) * std::max(1.0, partners) * in_step;
    if (hits > 0) {
      // A partner that answers next to no response was hardly seen at all.
      const double rarity = 0.02 * trials / hits;
      weight *= 1 + rarity * rarity;
    }
    if (row.zero_based && in_step >= kUnknownLockStep) weight *= kZeroBasedDoubt;
    return weight;
  }

  // Log odds of the cell in the row's own view; 0 if the row has nothing to say.
  double LogOdds(int side, const Cell& cell) const {
    const MatchRow& row = (*sides_[side])[cell.index[side]];
    const Weights& w = weights_[side][cell.index[side]];
    if (!w.informative) return 0;
    double weight = w.other;
    for (size_t i = 0; i < row.claims.size(); ++i) {
      if (row.claims[i].partner == cell.index[1 - side]) weight = w.claims[i];
    }
    weight = std::max(weight, 1e-12);
    return std::log(weight / std::max(w.total - weight, 1e-12));
  }

  // Responses that speak for the cell and for nobody else.
  double DistinctHits(int side, const Cell& cell) const {
    const MatchRow& row = (*sides_[side])[cell.index[side]];
    const Weights& w = weights_[side][cell.index[side]];
    if (row.claims.empty() || row.trials == 0) return 0;
    // Equal hits leave `best` at the first of them: the right one may be another.
    for (size_t i = 0; i < row.claims.size(); ++i) {
      if (row.claims[i].partner != cell.index[1 - side]) continue;
      const double below_best = row.claims[w.best].hits - row.claims[i].hits;
      if (i != w.best && below_best > 0) return 0;
      const double by_elimination =
          FreeOthers(side, cell) ? 0 : std::min<double>(3, row.claims[i].hits);
      return std::max({w.distinct, std::min(3.0, w.distinct_free), by_elimination, 0.0});
    }
    return 0;
  }

  // Whether another claim of the row with as many hits is still free.
  bool FreeOthers(int side, const Cell& cell) const {
    const MatchRow& row = (*sides_[side])[cell.index[side]];
    double hits = 0;
    for (const PartnerClaim& claim : row.claims) {
      if (claim.partner == cell.index[1 - side]) hits = claim.hits;
    }
    for (const PartnerClaim& claim : row.claims) {
      if (claim.partner != cell.index[1 - side] && 2 * claim.hits > hits &&
          FreeFor(side, cell.index[side], claim.partner) > 0.2) {
        return true;
      }
    }
    return row.visible > sides_[1 - side]->size() || row.claims.size() < 2;
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
      const double rivals = sums[0][cell.index[0]] + sums[1][cell.index[1]] - 2 * cell.odds;
      const double posterior = cell.odds / (1 + cell.odds + std::max(0.0, rivals));
      const double observations = cell.observations + DistinctHits(0, cell) + DistinctHits(1, cell);
      cell.confidence = posterior * (1 - std::exp2(-observations));
    }
  }

  void Accept() {
    std::vector<const Cell*> order;
    for (const Cell& cell : cells_) {
      if (cell.confidence >= kPairedConfidence) order.push_back(&cell);
    }
    std::sort(order.begin(), order.end(), [](const Cell* a, const Cell* b) {
      return a->confidence != b->confidence ? a->confidence > b->confidence : a < b;
    });
    for (int side = 0; side < 2; ++side) {
      std::fill(taken_by_[side].begin(), taken_by_[side].end(), UINT32_MAX);
      std::fill(taken_[side].begin(), taken_[side].end(), 0);
    }
    for (const Cell* cell : order) {
      if (taken_[0][cell->index[0]] > 0 || taken_[1][cell->index[1]] > 0) continue;
      for (int side = 0; side < 2; ++side) {
        taken_[side][cell->index[side]] = cell->confidence;
        taken_by_[side][cell->index[side]] = cell->index[1 - side];
      }
    }
  }

  Matching Result() const {
    Matching result;
    for (int side = 0; side < 2; ++side) {
      result.sides[side].resize(sides_[side]->size());
      for (uint32_t i = 0; i < sides_[side]->size(); ++i) {
        result.sides[side][i].partner = taken_by_[side][i];
        result.sides[side][i].confidence = taken_[side][i];
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
        const Weights& w = weights_[side][cell.index[side]];
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
  std::vector<Cell> cells_;  // in order of their indexes
  std::vector<Weights> weights_[2];
  std::vector<double> taken_[2];  // the confidence with which a row is paired
  std::vector<uint32_t> taken_by_[2];
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
