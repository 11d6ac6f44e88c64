// SPDX-License-Identifier: BSD-3-Clause
// Converts a score to a probability, based on earlier scores. This makes scores of different models
// and roles comparable.
#pragma once

#include <vector>

namespace rocescope {

// Up to the 90 % quantile this is the empirical distribution. Beyond it, the tail is an exponential
// that decays no faster than the observed scores (peaks over threshold with shape 0: Pickands,
// "Statistical inference using extreme order statistics", Ann. Stat. 3, 1975). The fit uses
// quantiles, so that a few scores from an unknown fault do not distort it.
class Tail {
 public:
  Tail() = default;
  explicit Tail(std::vector<double> scores);

  // Returns the probability of a score at least this high: above 0, at most 1.
  double Probability(double score) const;

 private:
  std::vector<double> scores_;  // ascending
  double threshold_ = 0;
  double slope_ = 1;  // increase of the score for which the probability falls by a factor of e
};

// Interpolates linearly. `sorted` must be ascending and not empty.
double Quantile(const std::vector<double>& sorted, double share);

}  // namespace rocescope
