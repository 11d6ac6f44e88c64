// SPDX-License-Identifier: BSD-3-Clause
// How likely a score is, by the scores that were seen: what makes scores of models and roles
// comparable.
#pragma once

#include <vector>

namespace rocescope {

// The share of what was seen, up to its ninth decile; beyond, an exponential that falls no faster
// than the scores between the ninth decile and the rest do (peaks over a threshold, with shape 0:
// Pickands, "Statistical inference using extreme order statistics", Ann. Stat. 3, 1975). It is laid
// through quantiles, so that the few scores of a fault that nobody knew do not bend it.
class Tail {
 public:
  Tail() = default;
  explicit Tail(std::vector<double> scores);

  // Of a score at least as high: over 0, at most 1.
  double Probability(double score) const;

 private:
  std::vector<double> scores_;  // ascending
  double threshold_ = 0;
  double slope_ = 1;  // by which the score grows while the probability falls to 1/e
};

// Linear between neighbours; of at least one, ascending.
double Quantile(const std::vector<double>& sorted, double share);

}  // namespace rocescope
