// SPDX-License-Identifier: BSD-3-Clause
// Three models of how far a window is from earlier windows.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "analytics/anomaly/anomaly.h"

namespace rocescope {

// A row-major matrix with `width` numbers per row.
struct Rows {
  size_t width = 0;
  std::vector<double> values;

  size_t size() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const double> operator[](size_t i) const {
    return std::span(values).subspan(i * width, width);
  }
};

// A row is one window of one entity with one number per metric: 0 is the expected value, 1 a usual
// deviation. A missing value is 0.
class AnomalyModel {
 public:
  virtual ~AnomalyModel() = default;

  // Returns false if there are too few rows; then no other member may be called.
  virtual bool Fit(const Rows& rows) = 0;
  // Returns 0 or more; larger is more anomalous. Scores from different fits are not comparable.
  virtual double Score(std::span<const double> row) const = 0;
  // Returns each metric's contribution to the score. The values are non-negative and sum to 1, or
  // to 0 if nothing is anomalous.
  virtual std::vector<double> Shares(std::span<const double> row) const = 0;
};

// The largest deviation over all metrics. It makes no assumption about correlations between
// metrics.
std::unique_ptr<AnomalyModel> MakeRobustZ();

// The Mahalanobis distance after Tipping and Bishop, "Probabilistic principal component analysis"
// (J. R. Stat. Soc. B 61, 1999): the leading components have individual variances and all others
// share one. It detects metrics that violate their usual correlation although each stays within its
// own range.
std::unique_ptr<AnomalyModel> MakePrincipalComponents();

// The distance to a mixture of uncorrelated Gaussians. It suits metrics that alternate between a
// few states, such as computing and communicating, and are never near the mean of both.
std::unique_ptr<AnomalyModel> MakeMixture();

std::unique_ptr<AnomalyModel> MakeModel(AnomalyModelKind kind);

// Scales the parts to a sum of 1; negative parts count as 0. Returns zeros if the sum is 0.
std::vector<double> SharesOf(std::vector<double> parts);

// Deviations are clamped to this value in a fit, to limit the weight of a single outlier.
inline constexpr double kMaxInFit = 4;
// Minimum variance in units of usual deviations. Without it, a metric that never changed would have
// an infinite score at its first count.
inline constexpr double kMinVariance = 0.25;

}  // namespace rocescope
