// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/wilson.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

// Reference values of statsmodels' proportion_confint(method="wilson") and R's prop.test(correct =
// FALSE); 81 of 263 and 15 of 148 are from Newcombe, Statistics in Medicine 17 (1998), 857, table
// I, method 3.
struct Case {
  double right, of, low, high;
};

TEST(Wilson, IntervalsAreAsPublished) {
  for (const Case& known :
       {Case{81, 263, 0.2553, 0.3662}, Case{15, 148, 0.0624, 0.1605}, Case{0, 20, 0, 0.1611},
        Case{1, 29, 0.0061, 0.1718}, Case{0, 10, 0, 0.2775}, Case{5, 10, 0.2366, 0.7634}}) {
    const Interval interval = WilsonInterval(known.right, known.of);
    EXPECT_NEAR(interval.low, known.low, 5e-5) << known.right << " of " << known.of;
    EXPECT_NEAR(interval.high, known.high, 5e-5) << known.right << " of " << known.of;
  }
}

TEST(Wilson, WithoutCountsTheIntervalIsEverything) {
  EXPECT_EQ(WilsonInterval(0, 0).low, 0);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1);
}

}  // namespace
}  // namespace rocescope
