// SPDX-License-Identifier: BSD-3-Clause
// Three ways to say how far a window is from what windows were like.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "analytics/anomaly/anomaly.h"

namespace rocescope {

// One behind the other, each with `width` numbers.
struct Rows {
  size_t width = 0;
  std::vector<double> values;

  size_t size() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const double> operator[](size_t i) const {
    return std::span(values).subspan(i * width, width);
  }
};

// A row is a window of one entity, one number a metric: 0 is what was expected, 1 a usual
// deviation from it; what is missing is 0.
class AnomalyModel {
 public:
  virtual ~AnomalyModel() = default;

  // False if the rows are too few, after which nothing else may be called.
  virtual bool Fit(const Rows& rows) = 0;
  // 0 or more; the larger, the odder. Scores of one fit alone compare with each other.
  virtual double Score(std::span<const double> row) const = 0;
  // How much of the score is each metric's: 0 or more, in all 1, or 0 if nothing is odd.
  virtual std::vector<double> Shares(std::span<const double> row) const = 0;
};

// The largest deviation of all metrics. Nothing is assumed of how they hang together.
std::unique_ptr<AnomalyModel> MakeRobustZ();

// The Mahalanobis distance, after Tipping and Bishop, "Probabilistic principal component analysis"
// (J. R. Stat. Soc. B 61, 1999): the leading components have their own variance, all the rest
// share one. It sees metrics that leave their relation though each stays within its bounds.
std::unique_ptr<AnomalyModel> MakePrincipalComponents();

// The distance to a mixture of Gaussians without correlation: what alternates between few states,
// as computing and communicating, is far from the middle of both.
std::unique_ptr<AnomalyModel> MakeMixture();

std::unique_ptr<AnomalyModel> MakeModel(AnomalyModelKind kind);

// Shares of the sum; zeros if there is none. Negative parts count as nothing.
std::vector<double> SharesOf(std::vector<double> parts);

// What one outlier may weigh in a fit: deviations are cut there.
inline constexpr double kMaxInFit = 4;
// Variance that the models take for granted in units of usual deviations: what never moved would
// otherwise be infinitely odd at its first count.
inline constexpr double kMinVariance = 0.25;

}  // namespace rocescope
