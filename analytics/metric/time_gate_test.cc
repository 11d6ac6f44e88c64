// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/time_gate.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using enum TimeGate::Verdict;

Timestamp At(int64_t second) { return Timestamp(hours(1000) + seconds(second)); }

class TimeGateTest : public testing::Test {
 protected:
  void TwoNodesTell() {
    gate_.Judge(1, At(0));
    gate_.Judge(2, At(0));
  }

  TimeGate gate_{seconds(60)};
};

TEST_F(TimeGateTest, TimeAdvancesWithReadings) {
  TwoNodesTell();
  EXPECT_EQ(gate_.Judge(1, At(50)), kNear);
  EXPECT_EQ(gate_.Judge(1, At(100)), kNear);
  EXPECT_EQ(gate_.Judge(2, At(90)), kNear) << "late, but not by much";
}

TEST_F(TimeGateTest, OneNodeAloneDoesNotAdvanceTime) {
  TwoNodesTell();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(gate_.Judge(1, At(3600 + i)), kStrange);
  EXPECT_EQ(gate_.Judge(1, Timestamp{}), kStrange) << "no packet goes back either";
  EXPECT_EQ(gate_.Judge(2, At(1)), kNear);
  EXPECT_FALSE(gate_.IsNear(At(3600)));
}

TEST_F(TimeGateTest, AnotherNodeConfirmsTheFirst) {
  TwoNodesTell();
  EXPECT_EQ(gate_.Judge(1, At(3600)), kStrange);
  EXPECT_EQ(gate_.Judge(2, At(3601)), kLeaps);
  EXPECT_TRUE(gate_.IsNear(At(3600)));
  EXPECT_EQ(gate_.Judge(3, At(3602)), kNear);
}

TEST_F(TimeGateTest, PacketsConfirmAReading) {
  TwoNodesTell();
  EXPECT_EQ(gate_.Judge(1, At(3600)), kStrange);
  EXPECT_FALSE(gate_.Advance(At(10)));
  EXPECT_TRUE(gate_.Advance(At(3599)));
  EXPECT_TRUE(gate_.IsNear(At(3600)));
}

TEST_F(TimeGateTest, ASingleNodeIsAccepted) {
  EXPECT_EQ(gate_.Judge(1, At(0)), kNear);
  EXPECT_EQ(gate_.Judge(1, At(3600)), kLeaps);
  EXPECT_EQ(gate_.Judge(1, At(3601)), kNear);
}

TEST_F(TimeGateTest, AWrongStartIsOutvoted) {
  EXPECT_EQ(gate_.Judge(1, At(1'000'000)), kNear);
  EXPECT_EQ(gate_.Judge(2, At(0)), kStrange);
  EXPECT_EQ(gate_.Judge(3, At(0)), kLeaps);
  EXPECT_EQ(gate_.Judge(2, At(1)), kNear);
}

}  // namespace
}  // namespace rocescope
