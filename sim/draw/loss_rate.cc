// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/loss_rate.h"

#include <algorithm>

namespace rocescope::sim {

double DrawLossRate(const std::vector<Priors::LossRates>& rates, RandomSource& dice) {
  std::vector<double> shares;
  shares.reserve(rates.size());
  for (const Priors::LossRates& bucket : rates) shares.push_back(bucket.share);
  const Priors::LossRates& bucket = rates[dice.Weighted(shares)];
  return dice.LogUniform(bucket.least, bucket.most);
}

double LiftedLossRate(double rate, double frames, double burst) {
  const double needed = frames > 0 ? kExpectedLosses * burst / frames : kMaxLoss;
  return std::max(rate, std::min(needed, kMaxLoss));
}

}  // namespace rocescope::sim
