// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/row_weights.h"

#include <algorithm>
#include <cmath>

namespace rocescope {
namespace {

// Assumptions about fabrics and taps. They affect the confidence of a pair, not whether a wrong
// pair is reported, which the property tests check.
// Probability that a flow's partner was not observed by any tap.
constexpr double kUnseenPrior = 0.05;
constexpr double kSuspectWeight = 0.5;  // a partner observed only at another tap, with close PSNs
constexpr double kRemoteWeight = 0.05;  // the same with distant PSNs: it is out of step
// A partner answers nearly every response of its flow. A candidate with a hit rate below 1 in 50
// was hardly observed, and the doubt grows with the square of the deficit.
constexpr double kMinHitRate = 0.02;

// Without a second flow to compare with, the coincidence rate is unknown: use the mean of the
// uniform distribution on [0, 1].
constexpr double kUnknownLockStep = 0.5;
// All NCCL queue pairs start at PSN 0, so its stripes are in lock step far more often than flows
// with random starts. The candidate of a lone pair then stays at 6 in 7.
constexpr double kZeroBasedDoubt = 6;

// Rates of few trials are drawn towards 1/2 by half of Jeffreys' prior, Beta(1/4, 1/4): a quarter
// of a hit in half a trial.
double Rate(double hits, double trials) { return (hits + 0.25) / (trials + 0.5); }

// Share of the unknown rest that remains after `hits`: a tenth for each, so that one hit among
// others without any is no proof.
double UnknownAfter(double hits) { return std::pow(0.1, hits); }

// With known order, each response identifies one requester: the partner or, if the mirror lost
// equal numbers of different requests and responses, a neighbour. A partner is assumed to be
// identified three times as often as any other flow. The true factor is higher (at least 5 if a
// mirror loses one packet in five), which leaves a margin.
constexpr double kNamedMoreOften = 3;

double OddsAgainstClaim(const MatchRow& row, double best, double trials, double hits,
                        double hits_trials) {
  const double odds = OddsAgainst(best, trials, hits, hits_trials);
  if (!row.ordered || hits > best) return odds;
  return std::min(odds,
                  std::exp(-std::min((best - hits) * std::log(kNamedMoreOften), kMaximumLog)));
}

// Returns how often responses of *other* rows hit the same partner, which is the coincidence rate.
double CoincidenceOf(const std::vector<MatchRow>& rows, uint32_t row, uint32_t partner) {
  double rate = -1;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (i == row || rows[i].trials == 0 || rows[i].tap != rows[row].tap) continue;
    double hits = 0;
    for (const PartnerClaim& claim : rows[i].claims) {
      if (claim.partner == partner) hits = claim.hits;
    }
    rate = std::max(rate, Rate(hits, rows[i].trials));
  }
  return rate < 0 ? kUnknownLockStep : rate;
}

double UnseenWeight(const MatchRow& row, double own, double partners, double in_step, double hits,
                    double trials) {
  // With more flows in this direction than in the other, some partners are certainly unobserved.
  const double prior = std::clamp((own - partners) / own, kUnseenPrior, 0.9);
  double weight = prior / (1 - prior) * std::max(1.0, partners) * in_step;
  if (hits > 0) {
    const double rarity = kMinHitRate * trials / hits;
    weight *= 1 + rarity * rarity;
  }
  if (row.zero_based && in_step >= kUnknownLockStep) weight *= kZeroBasedDoubt;
  return weight;
}

// Whether another claim of the row with as many hits is still unassigned.
bool FreeOthers(const MatchRow& row, uint32_t index, const Assignment& others, uint32_t partner) {
  double hits = 0;
  for (const PartnerClaim& claim : row.claims) {
    if (claim.partner == partner) hits = claim.hits;
  }
  for (const PartnerClaim& claim : row.claims) {
    if (claim.partner != partner && 2 * claim.hits > hits &&
        others.FreeFor(claim.partner, index) > 0.2) {
      return true;
    }
  }
  return row.visible > others.partner.size() || row.claims.size() < 2;
}

}  // namespace

RowWeights WeighRow(const std::vector<MatchRow>& own, uint32_t index, const Assignment& others,
                    double free_total) {
  const MatchRow& row = own[index];
  const auto partners = static_cast<double>(others.partner.size());
  const bool tried = row.trials > 0;
  RowWeights w{.informative = tried};
  w.claims.resize(row.claims.size());
  for (size_t i = 0; i < row.claims.size(); ++i) {
    w.informative |= row.claims[i].log_evidence > 0;
    if (row.claims[i].hits > row.claims[w.best].hits) w.best = i;
  }
  double first = 0;
  double second = 0;
  double second_free = 0;
  double claimed_free = 0;
  double best_trials = row.trials;
  for (size_t i = 0; i < row.claims.size(); ++i) {
    const PartnerClaim& claim = row.claims[i];
    const double free = others.FreeFor(claim.partner, index);
    claimed_free += free;
    if (i == w.best) {
      first = claim.hits;
      best_trials = claim.trials;
      continue;
    }
    second = std::max<double>(second, claim.hits);
    if (free > 0.5) second_free = std::max<double>(second_free, claim.hits);
  }
  const double visible =
      tried ? std::max<double>(row.visible, static_cast<double>(row.claims.size())) : partners;

  // The hit rate of a flow that is not the partner.
  double coincidence = 1;
  if (tried) {
    coincidence = visible > 1 ? std::min(1.0, Rate(second, best_trials))
                  : first > 0 ? CoincidenceOf(own, index, row.claims[w.best].partner)
                              : kUnknownLockStep;
    coincidence += (1 - coincidence) * UnknownAfter(first);
  }
  // How likely the hits of the best claim are if it is only in lock step with the partner.
  double in_step = coincidence;
  if (tried && visible > 1 && first > 0) {
    in_step = std::max(kUnseenPrior * coincidence,
                       OddsAgainstClaim(row, first, best_trials, second, best_trials));
  }
  w.other = tried ? OddsAgainstClaim(row, first, best_trials, 0, row.trials) : 1;
  for (size_t i = 0; i < row.claims.size(); ++i) {
    const PartnerClaim& claim = row.claims[i];
    const double psn = !tried || i == w.best
                           ? 1
                           : OddsAgainstClaim(row, first, best_trials, claim.hits, claim.trials);
    w.claims[i] = psn * std::exp(std::min(claim.log_evidence, kMaximumLog)) *
                  std::max(1e-6, others.FreeFor(claim.partner, index));
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
  w.total +=
      UnseenWeight(row, static_cast<double>(own.size()), partners, in_step, first, best_trials);
  const double certainty = visible > 1 ? 1 : 1 - coincidence;
  w.distinct = (first - second) * certainty;
  w.distinct_free = (first - second_free) * certainty;
  return w;
}

double DistinctHits(const MatchRow& row, uint32_t index, const RowWeights& weights,
                    const Assignment& others, uint32_t partner) {
  // Evidence by elimination, which depends on other pairs being right, counts at most this much.
  constexpr double kByElimination = 3;
  if (row.trials == 0) return 0;
  for (size_t i = 0; i < row.claims.size(); ++i) {
    const PartnerClaim& claim = row.claims[i];
    if (claim.partner != partner) continue;
    // With equal hits, `best` is the first one, but another one may be right.
    if (i != weights.best && row.claims[weights.best].hits > claim.hits) return 0;
    const double by_elimination =
        FreeOthers(row, index, others, partner) ? 0 : std::min<double>(kByElimination, claim.hits);
    return std::max(
        {weights.distinct, std::min(kByElimination, weights.distinct_free), by_elimination, 0.0});
  }
  return 0;
}

}  // namespace rocescope
