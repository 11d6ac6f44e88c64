// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rocescope {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

constexpr std::array kAll = {AnomalyModelKind::kRobustZ, AnomalyModelKind::kPrincipalComponents,
                             AnomalyModelKind::kMixture};

// Normally distributed numbers as sums of twelve uniform numbers minus 6, at even steps.
class Noise {
 public:
  double Next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;
      sum += static_cast<double>(state_ >> 11) / 9007199254740992.0;
    }
    return sum;
  }

 private:
  uint64_t state_ = 1;
};

// Points at (±a, ±a) and (±b, ∓b), as many of each: their mean is 0 and, of n, their covariance is
// ((a² + b²) / 2, (a² - b²) / 2), its eigenvalues a² and b², along the diagonals.
Rows Cross(double a, double b, int times) {
  Rows rows{.width = 2};
  for (int i = 0; i < times; ++i) {
    for (const double sign : {-1.0, 1.0}) {
      for (const double one : {sign * a, sign * a, sign * b, -sign * b}) {
        rows.values.push_back(one);
      }
    }
  }
  return rows;
}

TEST(PrincipalComponents, ScoreIsMahalanobisDistanceForKnownCovariance) {
  const auto model = MakePrincipalComponents();
  // Variances along the diagonals, of points (x, x) and (x, -x): 9 and 1, for 4 / 3.99 of n.
  ASSERT_TRUE(model->Fit(Cross(3, 1, 1000)));
  const double correction = std::sqrt(3999.0 / 4000);
  // (2, -2) is at 2 √2 on the diagonal with standard deviation 1; (2, 2) is at 2 √2 on the other
  // one.
  EXPECT_NEAR(model->Score(std::array{2.0, -2.0}), 2 * std::sqrt(2.0) * correction, 1e-6);
  EXPECT_NEAR(model->Score(std::array{2.0, 2.0}), 2 * std::sqrt(2.0) / 3 * correction, 1e-6);
  EXPECT_NEAR(model->Score(std::array{0.0, 0.0}), 0, 1e-9);
}

TEST(PrincipalComponents, ScoreBrokenCorrelationHigher) {
  const auto model = MakePrincipalComponents();
  ASSERT_TRUE(model->Fit(Cross(3, 0.5, 100)));
  EXPECT_GT(model->Score(std::array{2.0, -2.0}), 3 * model->Score(std::array{2.0, 2.0}));
}

TEST(RobustZ, IsTheLargestDeviation) {
  const auto model = MakeRobustZ();
  ASSERT_TRUE(model->Fit({.width = 3, .values = {0, 0, 0}}));
  EXPECT_EQ(model->Score(std::array{1.0, -7.0, 2.0}), 7);
  EXPECT_THAT(model->Shares(std::array{3.0, -4.0, 0.0}),
              ElementsAre(DoubleNear(9.0 / 25, 1e-12), DoubleNear(16.0 / 25, 1e-12), 0));
}

TEST(Mixture, ScoresTheMidpointOfTwoStatesHigher) {
  Noise noise;
  Rows rows{.width = 2};
  for (int i = 0; i < 400; ++i) {
    const double state = i % 2 == 0 ? 3 : -3;
    rows.values.push_back(state + 0.3 * noise.Next());
    rows.values.push_back(state + 0.3 * noise.Next());
  }
  const auto mixture = MakeMixture();
  const auto components = MakePrincipalComponents();
  ASSERT_TRUE(mixture->Fit(rows));
  ASSERT_TRUE(components->Fit(rows));
  for (const double state : {3.0, -3.0}) {
    EXPECT_LT(mixture->Score(std::array{state, state}), 1.5);
    EXPECT_GT(mixture->Score(std::array{0.0, 0.0}), mixture->Score(std::array{state, state}) + 3);
    EXPECT_LT(components->Score(std::array{0.0, 0.0}), components->Score(std::array{state, state}));
  }
}

TEST(AnomalyModels, SharesSumToOne) {
  Noise noise;
  Rows rows{.width = 4};
  for (int i = 0; i < 4 * 200; ++i) rows.values.push_back(noise.Next());
  for (const AnomalyModelKind kind : kAll) {
    const auto model = MakeModel(kind);
    ASSERT_TRUE(model->Fit(rows));
    for (int i = 0; i < 50; ++i) {
      std::vector<double> row(4);
      for (double& one : row) one = 5 * noise.Next();
      double sum = 0;
      for (const double share : model->Shares(row)) {
        EXPECT_GE(share, 0);
        sum += share;
      }
      EXPECT_NEAR(sum, 1, 1e-9);
    }
  }
}

TEST(AnomalyModels, ScoreGrowsWithDistance) {
  Noise noise;
  Rows rows{.width = 3};
  for (int i = 0; i < 3 * 300; ++i) rows.values.push_back(noise.Next());
  for (const AnomalyModelKind kind : kAll) {
    const auto model = MakeModel(kind);
    ASSERT_TRUE(model->Fit(rows));
    double before = model->Score(std::array{0.0, 2.0, 0.0});
    for (const double far : {4.0, 8.0, 16.0, 64.0, 1e6}) {
      const double score = model->Score(std::array{0.0, far, 0.0});
      EXPECT_GT(score, before);
      EXPECT_TRUE(std::isfinite(score));
      EXPECT_GT(model->Shares(std::array{0.0, far, 0.0})[1], 0.6);
      before = score;
    }
  }
}

TEST(AnomalyModels, AreDeterministic) {
  Noise noise;
  Rows rows{.width = 5};
  for (int i = 0; i < 5 * 300; ++i) rows.values.push_back(noise.Next());
  for (const AnomalyModelKind kind : kAll) {
    const auto one = MakeModel(kind), other = MakeModel(kind);
    ASSERT_TRUE(one->Fit(rows));
    ASSERT_TRUE(other->Fit(rows));
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(one->Score(rows[i]), other->Score(rows[i]));
  }
}

TEST(AnomalyModels, HandleConstantMetrics) {
  const Rows rows{.width = 2, .values = std::vector<double>(200, 0.0)};
  for (const AnomalyModelKind kind : kAll) {
    const auto model = MakeModel(kind);
    ASSERT_TRUE(model->Fit(rows));
    EXPECT_NEAR(model->Score(std::array{0.0, 0.0}), 0, 1e-6);
    EXPECT_GT(model->Score(std::array{0.0, 5.0}), 4);
    EXPECT_GT(model->Shares(std::array{0.0, 5.0})[1], 0.99);
  }
}

}  // namespace
}  // namespace rocescope
