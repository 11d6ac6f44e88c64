// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/rate_control.h"

#include <gtest/gtest.h>

#include "testbeds/ovs_lab/endpoint/lab_fixture.h"

namespace rocescope::endpoint {
namespace {

using std::chrono::milliseconds;

constexpr double kFullRate = 100e6;

TEST(RateControl, HalvesTheRateAtTheFirstCnp) {
  RateControl control({}, kFullRate);
  control.ReceiveCnp(kStart);
  EXPECT_DOUBLE_EQ(control.RateAt(kStart), kFullRate / 2);
}

TEST(RateControl, CutsOnlyOnceInAnInterval) {
  RateControl control({}, kFullRate);
  control.ReceiveCnp(kStart);
  control.ReceiveCnp(kStart + milliseconds(1));
  control.ReceiveCnp(kStart + milliseconds(2));
  EXPECT_DOUBLE_EQ(control.RateAt(kStart + milliseconds(9)), kFullRate / 2);
  EXPECT_LT(control.RateAt(kStart + milliseconds(10)), kFullRate / 2);
}

TEST(RateControl, FirstRecoversTowardsTheRateBeforeTheCut) {
  RateControl control({}, kFullRate);
  control.ReceiveCnp(kStart);
  EXPECT_DOUBLE_EQ(control.RateAt(kStart + milliseconds(50)), 0.75 * kFullRate);
  EXPECT_DOUBLE_EQ(control.RateAt(kStart + milliseconds(100)), 0.875 * kFullRate);
}

TEST(RateControl, ReturnsToTheLineRate) {
  RateControl control({}, kFullRate);
  for (int i = 0; i < 100; ++i) control.ReceiveCnp(kStart + milliseconds(10) * i);
  EXPECT_LT(control.RateAt(kStart + milliseconds(1000)), 0.1 * kFullRate);
  EXPECT_DOUBLE_EQ(control.RateAt(kStart + milliseconds(10'000)), kFullRate);
}

TEST(RateControl, NeverFallsBelowTheMinimum) {
  RateControl control({.minimum = 5e6}, kFullRate);
  for (int i = 0; i < 1000; ++i) control.ReceiveCnp(kStart + milliseconds(2) * i);
  EXPECT_GE(control.RateAt(kStart + milliseconds(2000)), 5e6);
  EXPECT_LT(control.RateAt(kStart + milliseconds(2000)), 6e6);
}

TEST(RateControl, CutsLessAfterATimeWithFewCnps) {
  RateControl control({}, kFullRate);
  control.ReceiveCnp(kStart);
  const Timestamp later = kStart + milliseconds(120);  // alpha has decayed
  const double before = control.RateAt(later);
  control.ReceiveCnp(later);
  EXPECT_GT(control.RateAt(later), 0.8 * before);
}

TEST(RateControl, IgnoresCnpsIfDisabled) {
  RateControl control({.enabled = false}, kFullRate);
  control.ReceiveCnp(kStart);
  EXPECT_DOUBLE_EQ(control.RateAt(kStart), kFullRate);
}

}  // namespace
}  // namespace rocescope::endpoint
