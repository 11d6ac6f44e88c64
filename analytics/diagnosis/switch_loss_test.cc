// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

// 1000 frames a window from host0 by spine0 to host4, and as many from host8 to host12.
class SwitchLossTest : public DiagnosisTest {
 protected:
  SwitchLossTest() {
    for (size_t w = 0; w < kWindows; ++w) {
      Send({"host0", "leaf0", "spine0", "leaf1", "host4"}, w, 1000);
      Send({"host8", "leaf2", "spine0", "leaf3", "host12"}, w, 1000);
      Says(Port("spine0", "leaf1"), Metric::kQueueBytes, w, 0, kRoce);
    }
  }
  // As far as the last of the nodes.
  void Send(const std::vector<std::string>& nodes, size_t window, uint64_t frames,
            uint64_t length = 1000) {
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      Carries(Port(nodes[i], nodes[i + 1]), window, frames, 0, length);
    }
  }
  void Notifies(size_t window, uint64_t sent, uint64_t handled) {
    for (const char* host : {"host0", "host4", "host8", "host12"}) {
      for (const Metric metric : {Metric::kCnpSent, Metric::kCnpHandled}) {
        Grows(OfNic(NicOf(host)), metric, window, 0);
      }
    }
    Grows(OfNic(NicOf("host4")), Metric::kCnpSent, window, sent);
    Grows(OfNic(NicOf("host0")), Metric::kCnpHandled, window, handled);
  }
  Findings Found() { return DiagnosisTest::Found(DetectSwitchLoss); }
};

TEST_F(SwitchLossTest, WhatGoesInComesOut) { EXPECT_TRUE(Found().empty()); }

TEST_F(SwitchLossTest, FramesThatVanishInASwitchAreABlackhole) {
  for (size_t w = 0; w < kWindows; ++w) Notifies(w, 10, 10);
  for (size_t w = 8; w < kWindows; ++w) Send({"host0", "leaf0", "spine0"}, w, 100);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBlackhole);
  EXPECT_EQ(found[0].place, Switch("spine0"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_FALSE(found[0].until);
}

// Where readings are within windows, the first increment of a port may be divided wrongly.
TEST_F(SwitchLossTest, FramesThatVanishOnlyAtTheBeginningDoNotVanish) {
  SetReadingDelay(kWindow / 3);
  for (size_t w = 0; w < kWindows; ++w) Notifies(w, 10, 10);
  Send({"host0", "leaf0", "spine0"}, 1, 100'000);
  EXPECT_TRUE(Found().empty());
  for (size_t w = 8; w < kWindows; ++w) Send({"host0", "leaf0", "spine0"}, w, 1000);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_GE(Found()[0].from, Begin(7));
}

// While one link of leaf1 is drained and the other is down, spine0 has no route to it.
TEST_F(SwitchLossTest, FramesToAnIsolatedSwitchAreProbablyNoBlackhole) {
  for (const topology::PortIndex port : {Port("spine0", "leaf1"), Port("leaf1", "spine0")}) {
    for (const Metric metric :
         {Metric::kRxPackets, Metric::kTxPackets, Metric::kRxBytes, Metric::kTxBytes}) {
      NeverTells(EntityOf(port), metric);
    }
  }
  for (size_t w = 0; w < kWindows; ++w) {
    const bool is_isolated = w >= 8;
    Notifies(w, 10, 10);
    Carries(Port("spine0", "leaf1"), w, is_isolated ? 0 : 1000);
    Carries(Port("leaf1", "spine0"), w, is_isolated ? 0 : 10);
    Carries(Port("spine0", "leaf0"), w, is_isolated ? 0 : 10);
    Carries(Port("host4", "leaf1"), w, 10);
    Says(Port("leaf1", "spine1"), Metric::kLinkUp, w, is_isolated ? 0 : 1);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Switch("spine0"));
  EXPECT_LT(found[0].confidence, 0.5);
  for (size_t w = 0; w < kWindows; ++w) {
    Says(Port("spine1", "leaf2"), Metric::kQueueBytes, w, 0, kRoce);
    if (w >= 8) Send({"host8", "leaf2", "spine1"}, w, 100);
  }
  EXPECT_TRUE(Found().empty()) << "no blackhole is at two switches at the same time";
}

TEST_F(SwitchLossTest, WhatWaitsForALinkThatGoesDownIsNoBlackhole) {
  for (size_t w = 0; w < kWindows; ++w) Notifies(w, 10, 10);
  Send({"host0", "leaf0", "spine0"}, 8, 300);
  ASSERT_EQ(Found().size(), 1u);
  for (size_t w = 0; w < kWindows; ++w) Says(Port("spine0", "leaf2"), Metric::kLinkUp, w, w < 9);
  EXPECT_TRUE(Found().empty());
  Send({"host0", "leaf0", "spine0"}, 11, 300);
  EXPECT_EQ(Found().size(), 1u) << "two windows afterwards";
}

TEST_F(SwitchLossTest, WhatASwitchLosesAsItGoesDownIsNoBlackhole) {
  for (size_t w = 0; w < kWindows; ++w) Notifies(w, 10, 10);
  for (size_t w = 8; w < 10; ++w) Send({"host0", "leaf0", "spine0"}, w, 100);
  ASSERT_EQ(Found().size(), 1u);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    for (size_t w = 10; w < 14; ++w) {
      Says(Port(leaf, "spine0"), Metric::kLinkUp, w, 0);
      Says(Port("spine0", leaf), Metric::kLinkUp, w, 0);
    }
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(SwitchLossTest, ABlackholeNamesWhomItKeepsPacketsFrom) {
  for (size_t w = 0; w < kWindows; ++w) Notifies(w, 10, 10);
  for (size_t w = 8; w < kWindows; ++w) Send({"host0", "leaf0", "spine0"}, w, 100);
  for (const std::string host : {"host4", "host5", "host6", "host7"}) {
    Goes({"host0", "leaf0", "spine0", "leaf1", host}, 17);
  }
  Sends("host0", "host4", 17).total.retransmitted = 300;
  Sends("host0", "host5", 17).total.retransmitted = 500;
  Sends("host0", "host6", 17).total.retransmitted = 24;  // less than a twentieth of the most
  Sends("host0", "host7", 17);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  // 100 in each of 12 windows.
  EXPECT_EQ(found[0].evidence[0],
            "it received 1,200 frames that it neither sent nor counted as dropped");
  EXPECT_EQ(found[0].evidence[1], "packets to " + NameOf(fabric_, Nic("host5")) + " and " +
                                      NameOf(fabric_, Nic("host4")) +
                                      " that pass through it were retransmitted");
}

TEST_F(SwitchLossTest, WhereNobodyTellsWhatWaitsNothingIsKnownToBeLost) {
  for (size_t w = 8; w < kWindows; ++w) Send({"host0", "leaf0", "spine0"}, w, 100);
  ASSERT_EQ(Found().size(), 1u);
  NeverTells(EntityOf(Port("spine0", "leaf1"), kRoce), Metric::kQueueBytes);
  EXPECT_TRUE(Found().empty());
}

TEST_F(SwitchLossTest, CnpsThatVanishAreLostCnps) {
  for (size_t w = 8; w < kWindows; ++w) {
    Send({"host4", "leaf1", "spine0"}, w, 100, 78);
    Notifies(w, 100, 0);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLostCnps);
  EXPECT_EQ(found[0].place, Switch("spine0"));
}

// NICs do not count CNPs, and another fault makes packets be retransmitted.
TEST_F(SwitchLossTest, TheLengthOfLostFramesShowsWhatTheyAre) {
  for (size_t w = 8; w < kWindows; ++w) Send({"host4", "leaf1", "spine0"}, w, 20'000, 78);
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 17);
  Sends("host0", "host4", 17).total.retransmitted = 300;
  Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLostCnps);
  EXPECT_EQ(found[0].evidence[1],
            "the lost frames have 78 bytes on average, which is the length of CNPs");
}

// A few frames, without mirrors: NICs count a timeout, or no losses at all.
TEST_F(SwitchLossTest, SignsOfLostDataDecideIfTheNumberOfCnpsIsUncertain) {
  Send({"host0", "leaf0", "spine0"}, 8, 90);
  Grows(OfNic(NicOf("host0")), Metric::kLocalAckTimeout, 9, 0);
  Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLostCnps);
  EXPECT_EQ(found[0].confidence, 0.8);
  Grows(OfNic(NicOf("host0")), Metric::kLocalAckTimeout, 9, 2);
  found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBlackhole);
  EXPECT_EQ(found[0].evidence[1], "NICs counted 2 signs of lost data packets since then");
}

TEST_F(SwitchLossTest, FewFramesThatNothingExplainsCanBeEither) {
  Send({"host0", "leaf0", "spine0"}, 8, 90);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBlackhole);
  EXPECT_EQ(found[0].confidence, 0.6);
  ASSERT_EQ(found[0].alternatives.size(), 1u);
  EXPECT_EQ(found[0].alternatives[0].kind, FaultKind::kLostCnps);
}

// Two that were on their way when packets began to vanish.
TEST_F(SwitchLossTest, WhereMoreCnpsAreHeededThanSentNoneAreLost) {
  for (size_t w = 0; w < kWindows; ++w) Notifies(w, 10, w == 8 ? 12 : 10);
  for (size_t w = 8; w < kWindows; ++w) Send({"host0", "leaf0", "spine0"}, w, 100);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBlackhole);
  EXPECT_EQ(found[0].confidence, 0.95);
}

TEST_F(SwitchLossTest, OneHeededMoreThanWasSentIsNotTheSameAsNobodyTelling) {
  for (size_t w = 0; w < kWindows; ++w) Notifies(w, 10, w == 8 ? 11 : 10);
  for (size_t w = 8; w < kWindows; ++w) Send({"host0", "leaf0", "spine0"}, w, 100);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kBlackhole);
}

// The NIC may have sent CNPs that others handled, or handled CNPs of others: both are unknown.
TEST_F(SwitchLossTest, WhereANicThatTalksTellsOnlyHalfNobodyKnowsHowManyAreLost) {
  for (size_t w = 8; w < kWindows; ++w) {
    Send({"host0", "leaf0", "spine0"}, w, 100);
    Notifies(w, 100, 0);
  }
  NeverTells(OfNic(NicOf("host0")), Metric::kCnpHandled);
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 17);
  Sends("host0", "host4", 17).total.retransmitted = 300;
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBlackhole);
}

// The first of the missing frames may be in its queue.
TEST_F(SwitchLossTest, CnpsThatWereLostWhileTheQueueWasLongAreLostCnps) {
  for (size_t w = 8; w < kWindows; ++w) {
    const bool is_lossy = w < 10;
    Notifies(w, 40, is_lossy ? 0 : 40);
    if (is_lossy) Send({"host0", "leaf0", "spine0"}, w, 40);
    Says(Port("spine0", "leaf1"), Metric::kQueueBytes, w, w < 13 ? 30'000 : 0, kRoce);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLostCnps);
  EXPECT_GT(found[0].confidence, 0.9);
}

TEST_F(SwitchLossTest, DropsThatItCountsAreNoBlackhole) {
  for (size_t w = 8; w < kWindows; ++w) {
    Send({"host0", "leaf0", "spine0"}, w, 100);
    Grows(Port("spine0", "leaf1"), Metric::kTxDiscards, w, 100);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(SwitchLossTest, FramesThatWaitInItsQueueAreNotLost) {
  const topology::PortIndex port = Port("spine0", "leaf1");
  for (size_t w = 0; w < kWindows; ++w) Says(port, Metric::kQueueBytes, w, 0, kRoce);
  Send({"host0", "leaf0", "spine0"}, 8, 100);
  for (size_t w = 8; w < 12; ++w) Says(port, Metric::kQueueBytes, w, 100'000, kRoce);
  Send({"spine0", "leaf1", "host4"}, 12, 100);
  EXPECT_TRUE(Found().empty());
}

// A paused queue holds acknowledgements, too: every second frame that the port sends is short.
TEST_F(SwitchLossTest, ShortFramesThatWaitAreNotLost) {
  for (size_t w = 0; w < kWindows; ++w) {
    Send({"host0", "leaf0", "spine0", "leaf1", "host4"}, w, 1000, 100);
    if (w >= 8) Says(Port("spine0", "leaf1"), Metric::kQueueBytes, w, 100'000, kRoce);
  }
  Send({"host0", "leaf0", "spine0"}, 8, 182, 550);
  EXPECT_TRUE(Found().empty());
  // So many more frames cannot be queued.
  Send({"host0", "leaf0", "spine0"}, 8, 200, 550);
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(SwitchLossTest, PacketsThatAreTooLongAreAnMtuMismatchAtOnce) {
  for (size_t w = 8; w < 11; ++w) Grows(Port("leaf2", "host8"), Metric::kMtuDrops, w, 3);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kMtuMismatch);
  EXPECT_EQ(found[0].place, Switch("leaf2"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(8));
}

}  // namespace
}  // namespace rocescope
