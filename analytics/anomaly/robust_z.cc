// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numeric>

#include "analytics/anomaly/model.h"

namespace rocescope {
namespace {

class RobustZ : public AnomalyModel {
 public:
  // The rows are already scaled robustly, so there is nothing to fit.
  bool Fit(const Rows& rows) override { return rows.size() > 0; }

  double Score(std::span<const double> row) const override {
    double most = 0;
    for (const double one : row) most = std::max(most, std::abs(one));
    return most;
  }

  std::vector<double> Shares(std::span<const double> row) const override {
    std::vector<double> parts;
    parts.reserve(row.size());
    for (const double one : row) parts.push_back(one * one);
    return SharesOf(std::move(parts));
  }
};

}  // namespace

std::unique_ptr<AnomalyModel> MakeRobustZ() { return std::make_unique<RobustZ>(); }

std::unique_ptr<AnomalyModel> MakeModel(AnomalyModelKind kind) {
  switch (kind) {
    case AnomalyModelKind::kRobustZ:
      return MakeRobustZ();
    case AnomalyModelKind::kPrincipalComponents:
      return MakePrincipalComponents();
    case AnomalyModelKind::kMixture:
      break;
  }
  return MakeMixture();
}

std::vector<double> SharesOf(std::vector<double> parts) {
  for (double& part : parts) part = std::max(part, 0.0);
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (sum > 0) {
    for (double& part : parts) part /= sum;
  }
  return parts;
}

}  // namespace rocescope
