// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "analytics/anomaly/algebra.h"
#include "analytics/anomaly/model.h"

namespace rocescope {
namespace {

constexpr size_t kComponents = 3;
constexpr size_t kRowsEach = 40;  // with fewer rows per component, use fewer components
constexpr int kMeansRounds = 10;
constexpr int kLikelihoodRounds = 10;

class Mixture : public AnomalyModel {
 public:
  bool Fit(const Rows& rows) override {
    if (rows.size() < 2) return false;
    const arma::mat columns = ColumnsOf(rows);
    // Start with rows that are far apart rather than random ones, so that the same rows give the
    // same mixture. Rows that are too similar do not form several components.
    for (size_t count = std::clamp<size_t>(rows.size() / kRowsEach, 1, kComponents); count > 0;
         --count) {
      if (model_.learn(columns, count, arma::eucl_dist, arma::static_spread, kMeansRounds,
                       kLikelihoodRounds, kMinVariance, false)) {
        FindHighest();
        return true;
      }
    }
    return false;
  }

  // For a single component this is its Mahalanobis distance; for a mixture, the distance that
  // corresponds to the density relative to the maximum.
  double Score(std::span<const double> row) const override {
    // The vector refers to the row and does not change it.
    const arma::vec at(const_cast<double*>(row.data()), row.size(), false, true);
    return std::sqrt(std::max(2 * (highest_ - model_.log_p(at)), 0.0));
  }

  // Use the nearest component.
  std::vector<double> Shares(std::span<const double> row) const override {
    const arma::uword next = model_.assign(arma::vec(row.data(), row.size()), arma::prob_dist);
    std::vector<double> parts(row.size());
    for (size_t i = 0; i < row.size(); ++i) {
      const double off = row[i] - model_.means(i, next);
      parts[i] = off * off / model_.dcovs(i, next);
    }
    return SharesOf(std::move(parts));
  }

 private:
  void FindHighest() {
    highest_ = model_.log_p(arma::vec(model_.means.col(0)));
    for (arma::uword i = 1; i < model_.n_gaus(); ++i) {
      highest_ = std::max(highest_, model_.log_p(arma::vec(model_.means.col(i))));
    }
  }

  arma::gmm_diag model_;
  double highest_ = 0;  // logarithm of the density at the densest mean
};

}  // namespace

std::unique_ptr<AnomalyModel> MakeMixture() { return std::make_unique<Mixture>(); }

}  // namespace rocescope
