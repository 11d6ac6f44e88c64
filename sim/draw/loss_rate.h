// SPDX-License-Identifier: BSD-3-Clause
// How lossy a link is.
#pragma once

#include <vector>

#include "sim/draw/dice.h"
#include "sim/draw/priors.h"

namespace rocescope::sim {

// As in life: a bucket by its share, and each rate in it as likely by its logarithm.
double DrawLossRate(const std::vector<Priors::LossRates>& rates, RandomSource& dice);

// `rate`, or more where it could not show. A link that loses one frame in 100,000 loses none of the
// 30,000 that a full one at 100 Gb/s carries in 10 ms at an MTU of 4096, and so would be a healthy
// one: neither the truth nor anybody else could tell. A fault shows from its fifth frame, so the
// rate is such that kExpectedLosses are lost on average of `frames`, those that pass while the
// fault lasts. Losses in bursts of `burst` on average come rarely and count as one. At most
// kMaxLoss, since a link that loses more is not gray.
double LiftedLossRate(double rate, double frames, double burst);

// Poisson: fewer than five of 25 in one of a million; fewer than five of half as many, where a job
// sends less than planned, in one of 200.
inline constexpr double kExpectedLosses = 25;
inline constexpr double kMaxLoss = 0.2;

}  // namespace rocescope::sim
