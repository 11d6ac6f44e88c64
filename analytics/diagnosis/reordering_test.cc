// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/reordering.h"

#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

// Taps at the leaves. Flows 1 and 2 take the link from spine0 to leaf2; flow 3 has its other links
// in common with flow 1, and flow 4 those with flow 2.
class ReorderingTest : public DiagnosisTest {
 protected:
  ReorderingTest() {
    Goes({"host0", "leaf0", "spine0", "leaf2", "host8"}, 1);
    Goes({"host4", "leaf1", "spine0", "leaf2", "host9"}, 2);
    Goes({"host1", "leaf0", "spine0", "leaf3", "host12"}, 3);
    Goes({"host5", "leaf1", "spine0", "leaf3", "host13"}, 4);
  }
  FlowKey First() const { return Flow("host0", "host8", 1); }
  FlowKey Second() const { return Flow("host4", "host9", 2); }
  // Each overtaken packet is new at the first leaf, and late at the second one. The sender
  // transmits eight packets again.
  void Overtakes(const FlowKey& flow, std::string_view leaf, size_t window, uint32_t packets) {
    Sees(leaf, flow, 0, 8 * packets, window);
    Sees("leaf2", flow, packets, 8 * packets, window);
  }
  void OvertakesBoth(size_t first, size_t behind, uint32_t packets) {
    for (size_t w = first; w < behind; ++w) {
      Overtakes(First(), "leaf0", w, packets);
      Overtakes(Second(), "leaf1", w, packets);
    }
  }
  // Each lost packet is retransmitted at the first leaf, and late at the second one.
  void Loses(const FlowKey& flow, std::string_view leaf, size_t window, uint32_t packets) {
    Sees(leaf, flow, 0, 8 * packets, window);
    Sees("leaf2", flow, packets, 7 * packets, window);
  }
  Findings Found() { return DiagnosisTest::Found(DetectReordering); }
};

TEST_F(ReorderingTest, FlowsInOrderAreNoFinding) { EXPECT_TRUE(Found().empty()); }

TEST_F(ReorderingTest, TheLinkThatAllReorderedFlowsTakeReordersThem) {
  OvertakesBoth(8, 12, 3);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kReordering);
  EXPECT_EQ(found[0].place, OneWay("spine0", "leaf2"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(10)) << "18 packets in the third window";
  EXPECT_EQ(found[0].until, End(11));
  EXPECT_GT(found[0].confidence, 0.85);
}

TEST_F(ReorderingTest, LostPacketsAreNotReordered) {
  for (size_t w = 8; w < 12; ++w) {
    Loses(First(), "leaf0", w, 3);
    Loses(Second(), "leaf1", w, 3);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(ReorderingTest, PacketsThatAreLostToo) {
  OvertakesBoth(8, 12, 3);
  for (size_t w = 8; w < 12; ++w) Loses(First(), "leaf0", w, 1);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].place, OneWay("spine0", "leaf2"));
}

// A changed path reorders the packets of a moment.
TEST_F(ReorderingTest, OneMomentIsNoFault) {
  OvertakesBoth(8, 10, 50);
  EXPECT_TRUE(Found().empty());
}

TEST_F(ReorderingTest, LossesAfterOneMomentAreNoFault) {
  OvertakesBoth(8, 9, 50);
  for (size_t w = 10; w < 15; ++w) Loses(First(), "leaf0", w, 10);
  EXPECT_TRUE(Found().empty());
}

// The tap at spine0 sees the flow until it changes its path.
TEST_F(ReorderingTest, LossesOfAFlowThatChangesItsPathAreNoFault) {
  FlowPath path = PathVia({"host2", "leaf0", "spine0", "leaf2", "host10"}, 9, 0, 9);
  const FlowPath then = PathVia({"host2", "leaf0", "spine1", "leaf2", "host10"}, 9, 10);
  path.intervals.push_back(then.intervals.front());
  paths_.push_back(path);
  for (size_t w = 0; w < kWindows; ++w) {
    Sees("leaf0", path.flow, 0, 16, w);
    if (w < 10) Sees("spine0", path.flow, 0, 16, w);
    Sees("leaf2", path.flow, 2, 14, w);
  }
  EXPECT_TRUE(Found().empty());
}

// Two of the packets of a window arrive at the second tap in the next one.
TEST_F(ReorderingTest, PacketsCanArriveInTheNextWindow) {
  for (size_t w = 6; w < 14; ++w) {
    const uint32_t overtaken = w < 8 ? 0 : 3;
    Sees("leaf0", First(), 0, 24, w);
    Sees("leaf2", First(), overtaken, w == 6 ? 22 : 24, w);
  }
  Sees("leaf2", First(), 0, 2, 14);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(8));
}

TEST_F(ReorderingTest, NinePacketsAreTooFew) {
  for (size_t w = 8; w < 11; ++w) Overtakes(First(), "leaf0", w, 3);
  EXPECT_TRUE(Found().empty());
}

// The receiver has not noticed anything: the mirror reordered its copies.
TEST_F(ReorderingTest, CopiesThatTheMirrorReordersAreNoEvidence) {
  for (size_t w = 8; w < 12; ++w) {
    Sees("leaf0", First(), 0, 1, w);
    Sees("leaf2", First(), 5, 1, w);
  }
  EXPECT_TRUE(Found().empty());
}

// The mirror of leaf0 loses one in ten copies, also of retransmitted packets. Leaf2 therefore seems
// to have more of them.
TEST_F(ReorderingTest, CopiesThatTheMirrorLosesAreNoEvidence) {
  for (size_t w = 8; w < 12; ++w) {
    Sees("leaf0", First(), 0, 72, w);
    lossy_.back().packets = 1000;
    Sees("leaf2", First(), 8, 72, w);
    lossy_.back().packets = 1000;
  }
  ASSERT_EQ(Found().size(), 1u) << "without a sign of losses in the mirror";
  for (FlowRecord& record : lossy_) {
    if (record.tap == static_cast<TapId>(Node("leaf0"))) record.requests.missing = 100;
  }
  EXPECT_TRUE(Found().empty());
}

// NAKs for overtaken packets are no evidence of loss.
TEST_F(ReorderingTest, NaksOfReorderedFlowsAreNotAttributedToALoss) {
  for (const auto& [from, to, qpn] : {std::tuple("host0", "host8", 1), {"host4", "host9", 2}}) {
    const FlowKey there = Flow(from, to, static_cast<uint32_t>(qpn));
    const FlowKey back = Flow(to, from, static_cast<uint32_t>(100 + qpn));
    Connects(there, back);
    for (size_t w = 8; w < 12; ++w) DiagnosisTest::Loses(back, w, 0, 5);
  }
  NeverTells(EntityOf(Port("spine0", "leaf2")), Metric::kTxPackets);
  EXPECT_EQ(DiagnosisTest::Found(DetectUncountedLoss).size(), 1u);
  OvertakesBoth(8, 12, 5);
  EXPECT_TRUE(DiagnosisTest::Found(DetectUncountedLoss).empty());
  ASSERT_EQ(Diagnosed().size(), 1u);
  EXPECT_EQ(Diagnosed()[0].kind, FaultKind::kReordering);
}

// Most losses of the NIC are those of another flow.
TEST_F(ReorderingTest, LossesOfOtherFlowsOfANicCount) {
  OvertakesBoth(8, 12, 3);
  EXPECT_TRUE(In([&](const DiagnosisInput& input) {
    return input.reordering().senders.contains(NicOf("host0"));
  }));
  Goes({"host0", "leaf0", "spine1", "leaf3", "host13"}, 7);
  const FlowKey other = Flow("host0", "host13", 7);
  for (size_t w = 8; w < 12; ++w) Loses(other, "leaf0", w, 9);
  EXPECT_FALSE(In([&](const DiagnosisInput& input) {
    return input.reordering().senders.contains(NicOf("host0"));
  }));
}

// The response to a packet that arrives too early is sent after that to the overtaken one.
TEST_F(ReorderingTest, ReceiversOfReorderedFlowsAreNotSlow) {
  for (size_t w = 0; w < kWindows; ++w) {
    Says(Port("leaf2", "host8"), Metric::kQueueWatermark, w, 0, kRoce);
  }
  const DelayKey key = {
      .kind = DelayKind::kTurnaround, .from = Node("leaf2"), .to = NicOf("host8")};
  DelayWindow usual = {.least = 2000, .most = 4000, .next_most = 4000, .sum = 30'000, .count = 10};
  Takes(key, 0, kWindows - 1, usual);
  DelayWindow late = usual;
  late.most = late.next_most = 30'000;
  late.sum = 90'000;
  Takes(key, 8, 12, late);
  EXPECT_EQ(DiagnosisTest::Found(DetectLateAnswers).size(), 1u);
  OvertakesBoth(8, 12, 3);
  EXPECT_TRUE(DiagnosisTest::Found(DetectLateAnswers).empty());
}

}  // namespace
}  // namespace rocescope
