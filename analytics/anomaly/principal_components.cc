// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "analytics/anomaly/algebra.h"
#include "analytics/anomaly/model.h"

namespace rocescope {
namespace {

// Share of the variance that the leading components explain; only these have individual variances.
constexpr double kExplained = 0.95;

class PrincipalComponents : public AnomalyModel {
 public:
  bool Fit(const Rows& rows) override {
    if (rows.size() < 2) return false;
    const arma::mat columns = ColumnsOf(rows);
    mean_ = arma::mean(columns, 1);
    // Armadillo's matrix product does not guarantee the order of its sums.
    arma::mat covariance(rows.width, rows.width, arma::fill::zeros);
    arma::vec one;
    for (arma::uword row = 0; row < columns.n_cols; ++row) {
      one = columns.col(row) - mean_;
      for (arma::uword i = 0; i < rows.width; ++i) {
        if (one[i] == 0) continue;
        for (arma::uword k = 0; k <= i; ++k) covariance(i, k) += one[i] * one[k];
      }
    }
    covariance = arma::symmatl(covariance) / static_cast<double>(columns.n_cols - 1);
    arma::vec variances;  // ascending
    arma::mat components;
    if (!arma::eig_sym(variances, components, covariance, "std")) return false;
    precision_ = PrecisionOf(variances, components);
    return true;
  }

  double Score(std::span<const double> row) const override {
    // Dimensions of an entity are few: no allocation for each score.
    constexpr size_t kMost = 64;
    std::array<double, kMost> fixed;
    std::vector<double> dynamic(row.size() > kMost ? row.size() : 0);
    const std::span<double> parts(dynamic.empty() ? fixed.data() : dynamic.data(), row.size());
    FillParts(row, parts);
    double square = 0;
    for (const double part : parts) square += part;
    return std::sqrt(std::max(square, 0.0));
  }

  // Contributions to the squared distance. Correlated metrics can have negative contributions.
  std::vector<double> Shares(std::span<const double> row) const override {
    std::vector<double> parts(row.size());
    FillParts(row, parts);
    for (double& part : parts) part = std::abs(part);
    return SharesOf(std::move(parts));
  }

 private:
  static arma::mat PrecisionOf(const arma::vec& variances, const arma::mat& components) {
    const arma::uword width = variances.n_elem;
    const double all = arma::accu(variances);
    double kept = 0;
    arma::uword rest = width;  // number of components that are not leading
    while (rest > 0 && kept < kExplained * all) kept += variances[--rest];
    double shared = 0;
    for (arma::uword i = 0; i < rest; ++i) shared += variances[i];
    if (rest > 0) shared /= static_cast<double>(rest);
    arma::mat precision(width, width, arma::fill::zeros);
    for (arma::uword at = 0; at < width; ++at) {
      const double variance = std::max(at < rest ? shared : variances[at], kMinVariance);
      for (arma::uword i = 0; i < width; ++i) {
        for (arma::uword k = 0; k < width; ++k) {
          precision(i, k) += components(i, at) * components(k, at) / variance;
        }
      }
    }
    return precision;
  }

  // Adds up all sums at the same time, because the additions of one sum wait for each other.
  void FillParts(std::span<const double> row, std::span<double> parts) const {
    std::ranges::fill(parts, 0);
    for (size_t k = 0; k < row.size(); ++k) {
      const double off = row[k] - mean_[k];
      if (off == 0) continue;  // most counters never change
      const double* const column = precision_.colptr(k);
      for (size_t i = 0; i < parts.size(); ++i) parts[i] += column[i] * off;
    }
    for (size_t i = 0; i < parts.size(); ++i) parts[i] *= row[i] - mean_[i];
  }

  arma::vec mean_;
  arma::mat precision_;
};

}  // namespace

std::unique_ptr<AnomalyModel> MakePrincipalComponents() {
  return std::make_unique<PrincipalComponents>();
}

}  // namespace rocescope
