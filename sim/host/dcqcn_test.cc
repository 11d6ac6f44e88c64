// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host/dcqcn.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rocescope::sim {
namespace {

constexpr double kLine = 100e9;

class DcqcnTest : public ::testing::Test {
 protected:
  void NotifyAt(SimTime time) {
    engine_.At(time, [this] { dcqcn_.ReceiveCnp(); });
  }

  Engine engine_;
  DcqcnOptions options_;  // alpha update each us, cut each 4 us, raise each 300 us
  Dcqcn dcqcn_{engine_, options_, kLine};
};

TEST_F(DcqcnTest, KeepsLineRateUntilTheFirstCnp) {
  engine_.Run(kMillisecond);
  EXPECT_EQ(dcqcn_.rate(), kLine);
}

// Alpha starts at 1 and decays over four intervals, the first of which has no CNP.
TEST_F(DcqcnTest, FirstCutIsAtTheEndOfItsInterval) {
  NotifyAt(0);
  engine_.Run(4 * kMicrosecond);
  EXPECT_EQ(dcqcn_.rate(), kLine);
  engine_.Run(5 * kMicrosecond);
  const double alpha = std::pow(1 - 1.0 / 256, 4);
  EXPECT_NEAR(dcqcn_.rate(), kLine * (1 - alpha / 2), 1);
}

TEST_F(DcqcnTest, SeveralCnpsInAnIntervalCauseOneCut) {
  NotifyAt(0);
  for (int i = 1; i < 4; ++i) NotifyAt(i * kMicrosecond / 2);
  engine_.Run(5 * kMicrosecond);
  EXPECT_GT(dcqcn_.rate(), kLine * 0.49);
}

TEST_F(DcqcnTest, AlphaGrowsInIntervalsWithCnpsAndDecaysInOthers) {
  NotifyAt(0);
  NotifyAt(20 * kMicrosecond + kMicrosecond / 2);
  engine_.Run(25 * kMicrosecond);
  // The first cut is at 4 us, the second at 24 us. In between alpha decays 24 times and rises once,
  // in the interval that ends at 21 us.
  const double keep = 1 - 1.0 / 256;
  const double first = std::pow(keep, 4);
  const double second = std::pow(keep, 24) + 1.0 / 256 * std::pow(keep, 3);
  EXPECT_NEAR(dcqcn_.rate(), kLine * (1 - first / 2) * (1 - second / 2), 1);
}

TEST_F(DcqcnTest, RecoversHalfWayToTheTargetThenRaisesIt) {
  NotifyAt(0);
  engine_.Run(5 * kMicrosecond);
  const double cut = dcqcn_.rate();
  engine_.Run(310 * kMicrosecond);  // fast recovery: F is 1
  EXPECT_NEAR(dcqcn_.rate(), (cut + kLine) / 2, 1);
  engine_.Run(kSecond);
  EXPECT_NEAR(dcqcn_.rate(), kLine, 1e6);
}

TEST_F(DcqcnTest, NeverFallsBelowTheMinimum) {
  for (int i = 0; i < 200; ++i) NotifyAt(i * 4 * kMicrosecond);
  engine_.Run(800 * kMicrosecond);
  EXPECT_EQ(dcqcn_.rate(), options_.minimum);
}

}  // namespace
}  // namespace rocescope::sim
