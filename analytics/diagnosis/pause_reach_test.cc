// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/pause_reach.h"

#include <gtest/gtest.h>

#include <string_view>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

class PauseReachTest : public DiagnosisTest {
 protected:
  // The switch counts pauses in all windows, and received none so far.
  void CountsPauses(std::string_view name) {
    const topology::Node& node = fabric_.node(Node(name));
    for (uint32_t i = 0; i < node.port_count; ++i) {
      for (const Metric metric : {Metric::kPfcRx, Metric::kPfcTx}) {
        Grows(node.first_port + i, metric, 0, 0, kRoce);
      }
    }
  }
  bool IsFree(const Place& place, size_t window) {
    const Finding finding = {.kind = FaultKind::kBlackhole, .place = place, .from = Begin(window)};
    return In([&](const DiagnosisInput& input) { return IsFreeOfPauses(input, finding); });
  }
};

TEST_F(PauseReachTest, WithoutCountersItIsUnknown) {
  EXPECT_FALSE(IsFree(Switch("leaf0"), 5));
  EXPECT_FALSE(IsFree(Link("leaf0", "spine0"), 5));
}

TEST_F(PauseReachTest, ASwitchThatNobodyPausesIsFree) {
  CountsPauses("leaf0");
  EXPECT_TRUE(IsFree(Switch("leaf0"), 5));
  // spine0 does not count pauses itself.
  EXPECT_FALSE(IsFree(Link("leaf0", "spine0"), 5));
}

TEST_F(PauseReachTest, PausesMatterFromTheWindowBeforeOn) {
  CountsPauses("leaf0");
  Grows(Port("leaf0", "host1"), Metric::kPfcRx, 8, 1, kRoce);
  EXPECT_FALSE(IsFree(Switch("leaf0"), 5));
  EXPECT_FALSE(IsFree(Switch("leaf0"), 9));
  EXPECT_TRUE(IsFree(Switch("leaf0"), 10));
}

TEST_F(PauseReachTest, PausesThatTheSwitchSendsDoNotMatter) {
  CountsPauses("leaf0");
  Grows(Port("leaf0", "host1"), Metric::kPfcTx, 8, 1, kRoce);
  EXPECT_TRUE(IsFree(Switch("leaf0"), 5));
}

TEST_F(PauseReachTest, ThePeerCountsForAPortWithoutCounters) {
  for (const char* peer : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    Grows(Port(peer, "spine0"), Metric::kPfcTx, 0, 0, kRoce);
  }
  EXPECT_TRUE(IsFree(Switch("spine0"), 5));
  Grows(Port("leaf2", "spine0"), Metric::kPfcTx, 7, 1, kRoce);
  EXPECT_FALSE(IsFree(Switch("spine0"), 5));
}

TEST_F(PauseReachTest, ASwitchThatIsNoLongerReadIsUnknown) {
  CountsPauses("leaf0");
  FallsSilent(EntityOf(Port("leaf0", "host1"), kRoce), 4);
  EXPECT_TRUE(IsFree(Switch("leaf0"), 2));
  EXPECT_FALSE(IsFree(Switch("leaf0"), 6));
}

}  // namespace
}  // namespace rocescope
