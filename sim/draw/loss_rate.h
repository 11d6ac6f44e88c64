// SPDX-License-Identifier: BSD-3-Clause
// Loss rates of faulty links.
#pragma once

#include <vector>

#include "sim/draw/dice.h"
#include "sim/draw/priors.h"

namespace rocescope::sim {

// Draws from a measured distribution: a bucket by its share, then a rate with uniform logarithm
// within the bucket.
double DrawLossRate(const std::vector<Priors::LossRates>& rates, RandomSource& dice);

// Returns `rate`, raised where necessary to make the fault observable. A full 100 Gb/s link carries
// 30,000 frames in 10 ms at an MTU of 4096, so a link that loses one frame in 100,000 would lose
// none and would be indistinguishable from a healthy link. A fault counts as observable from its
// tenth lost frame. The rate is therefore raised so that kExpectedLosses of the `frames` frames
// that pass during the fault are lost on average. A burst of losses (`burst` frames on average)
// counts once, because bursts are rare. The result is at most kMaxLoss: a link that loses more is
// not a gray failure.
double LiftedLossRate(double rate, double frames, double burst);

// Poisson: with a mean of 25, fewer than ten losses have a probability of 2e-4; with half that mean
// (a job that sends less than planned), 1 in 5.
inline constexpr double kExpectedLosses = 25;
inline constexpr double kMaxLoss = 0.2;

}  // namespace rocescope::sim
