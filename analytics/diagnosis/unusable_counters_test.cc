// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/unusable_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/coverage.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/diagnosis_fixture.h"
#include "analytics/diagnosis/loss_signs.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Every link carries 1000 frames of 1000 bytes per window and direction.
class UnusableCountersTest : public DiagnosisTest {
 protected:
  UnusableCountersTest() {
    for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
      for (size_t w = 0; w < kWindows; ++w) Carries(port, w, 1000);
      for (const Metric metric : {Metric::kOutOfSequence, Metric::kLocalAckTimeout}) {
        if (fabric_.NicOf(port) != topology::kNone) Grows(port, metric, kWindows - 1, 0);
      }
    }
  }
  Findings Found() { return DiagnosisTest::Found(DetectLinkLoss); }
  std::vector<UnusableCounters> Unusable() { return In(CoverageOf).unusable_counters; }
};

TEST_F(UnusableCountersTest, AreNoneInAHealthyFabric) { EXPECT_THAT(Unusable(), IsEmpty()); }

TEST_F(UnusableCountersTest, BytesInAnotherUnitShowNoLoss) {
  const topology::PortIndex sender = Port("leaf0", "spine1");
  Carries(sender, 8, 20, 20);
  ASSERT_THAT(Found(), SizeIs(1));
  for (size_t w = 0; w < kWindows; ++w) Grows(sender, Metric::kTxBytes, w, 50'000'000);
  EXPECT_THAT(Found(), IsEmpty());
  ASSERT_THAT(Unusable(), SizeIs(1));
  EXPECT_EQ(Unusable()[0].defect, CounterDefect::kLongFrames);
  EXPECT_THAT(Unusable()[0].ports, ElementsAre(sender));
  EXPECT_GT(Unusable()[0].value, 50'000);
}

TEST_F(UnusableCountersTest, ErrorsAmongTooFewPacketsAreNoFault) {
  const topology::PortIndex receiver = Port("spine1", "leaf0");
  for (size_t w = 0; w < kWindows; ++w) Grows(receiver, Metric::kFcsErrors, w, 5);
  ASSERT_THAT(Found(), SizeIs(1));
  for (size_t w = 0; w < kWindows; ++w) Grows(receiver, Metric::kRxBytes, w, 50'000'000);
  EXPECT_THAT(Found(), IsEmpty());
}

// Kilobytes instead of bytes: the packets are right.
TEST_F(UnusableCountersTest, ErrorsAmongPacketsWithTooFewBytesAreAFault) {
  const topology::PortIndex receiver = Port("spine1", "leaf0");
  for (size_t w = 0; w < kWindows; ++w) {
    Grows(receiver, Metric::kFcsErrors, w, 5);
    Grows(receiver, Metric::kRxPackets, w, 100'000);
    Grows(fabric_.Peer(receiver), Metric::kTxPackets, w, 100'000);
  }
  EXPECT_THAT(Found(), SizeIs(1));
  ASSERT_THAT(Unusable(), SizeIs(1));
  EXPECT_EQ(Unusable()[0].defect, CounterDefect::kShortFrames);
  EXPECT_THAT(Unusable()[0].ports, UnorderedElementsAre(receiver, fabric_.Peer(receiver)));
}

TEST_F(UnusableCountersTest, ErrorsThatNoNicNoticedAreOnlySuspected) {
  const topology::PortIndex receiver = Port("spine1", "leaf0");
  for (size_t w = 0; w < kWindows; ++w) Grows(receiver, Metric::kFcsErrors, w, 900);
  ASSERT_THAT(Found(), SizeIs(1));
  EXPECT_EQ(Found()[0].kind, FaultKind::kBitErrors);
  EXPECT_EQ(Found()[0].confidence, kContradicted);
}

// A NIC that does not count its LLDP frames.
TEST_F(UnusableCountersTest, FewFramesTooManyDoNotHideABlackhole) {
  for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
    Says(port, Metric::kQueueBytes, 0, 0, kRoce);
  }
  Grows(Port("leaf0", "host0"), Metric::kRxPackets, 5, 300);
  ASSERT_THAT(Unusable(), SizeIs(1));
  EXPECT_EQ(Unusable()[0].defect, CounterDefect::kSurplus);
  for (size_t w = 8; w < 12; ++w) {
    Grows(Port("leaf0", "spine0"), Metric::kRxPackets, w, 500);
    Grows(Port("spine0", "leaf0"), Metric::kTxPackets, w, 500);
  }
  const Findings found = DiagnosisTest::Found(DetectSwitchLoss);
  EXPECT_THAT(found,
              testing::Contains(testing::Field(
                  &Finding::place, Place{.kind = PlaceKind::kSwitch, .index = Node("leaf0")})));
}

TEST_F(UnusableCountersTest, SwitchThatReceivesMoreThanWasSentIsNoBlackhole) {
  for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
    Says(port, Metric::kQueueBytes, 0, 0, kRoce);
  }
  const topology::PortIndex receiver = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) Grows(receiver, Metric::kRxPackets, w, 9000);
  EXPECT_THAT(DiagnosisTest::Found(DetectSwitchLoss), IsEmpty());
  ASSERT_THAT(Unusable(), SizeIs(1));
  EXPECT_EQ(Unusable()[0].defect, CounterDefect::kSurplus);
  EXPECT_THAT(Unusable()[0].ports, UnorderedElementsAre(receiver, fabric_.Peer(receiver)));
}

// On three links it receives 1000 frames more than it sends, and on the other three it sends more.
TEST_F(UnusableCountersTest, SwitchThatExchangesSentAndReceivedShowsNoLoss) {
  const topology::Node& leaf = fabric_.node(Node("leaf0"));
  for (uint32_t i = 0; i < leaf.port_count; ++i) {
    const topology::PortIndex own = leaf.first_port + i;
    const bool sends_more = i % 2 == 0;
    // What it sent counts as received.
    Grows(own, sends_more ? Metric::kRxPackets : Metric::kTxPackets, 8, 1000);
    Grows(fabric_.Peer(own), sends_more ? Metric::kRxPackets : Metric::kTxPackets, 8, 1000);
  }
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(UnusableCountersTest, PacketsWhoseBytesArriveAreNotLost) {
  const topology::PortIndex sender = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) Grows(sender, Metric::kTxPackets, w, 9000);
  EXPECT_THAT(Found(), IsEmpty());
  ASSERT_THAT(Unusable(), SizeIs(1));
  EXPECT_EQ(Unusable()[0].defect, CounterDefect::kBytesAgree);
  EXPECT_THAT(Unusable()[0].ports, UnorderedElementsAre(sender, fabric_.Peer(sender)));
}

// The receiver counts the preamble, gap and FCS of each frame, the sender does not.
TEST_F(UnusableCountersTest, OtherBytesThanTheSenderDoNotRefuteALoss) {
  const topology::PortIndex sender = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) {
    Carries(sender, w, 5000);
    Grows(fabric_.Peer(sender), Metric::kRxBytes, w, uint64_t{24} * 6000);
  }
  for (size_t w = 8; w < 12; ++w) Carries(sender, w, 2000, 200);
  EXPECT_THAT(Found(), SizeIs(1));
}

TEST_F(UnusableCountersTest, LinksThatAllMissFramesCountDifferently) {
  for (const char* spine : {"spine0", "spine1"}) {
    for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
      Carries(Port(leaf, spine), 8, 20, 20);
    }
  }
  EXPECT_THAT(Found(), IsEmpty());
  ASSERT_THAT(Unusable(), SizeIs(1));
  EXPECT_EQ(Unusable()[0].defect, CounterDefect::kMostMismatch);
  EXPECT_THAT(Unusable()[0].ports, SizeIs(8));
}

TEST_F(UnusableCountersTest, LossThatNoNicNoticedIsOnlySuspected) {
  for (size_t w = 8; w < kWindows; ++w) Carries(Port("leaf0", "spine1"), w, 9000, 9000);
  ASSERT_THAT(Found(), SizeIs(1));
  EXPECT_EQ(Found()[0].confidence, kContradicted);
  EXPECT_THAT(Found()[0].evidence[0], testing::HasSubstr("NICs noticed only 0 signs"));
  Grows(Port("host0", "leaf0"), Metric::kOutOfSequence, 10, 20);
  ASSERT_THAT(Found(), SizeIs(1));
  EXPECT_GT(Found()[0].confidence, kLeastConfidence);
}

TEST_F(UnusableCountersTest, NicsThatReportNoMoreContradictNothing) {
  for (size_t w = 8; w < kWindows; ++w) Carries(Port("leaf0", "spine1"), w, 9000, 9000);
  FallsSilent(Entity{.kind = EntityKind::kNic, .index = 0}, 4);
  ASSERT_THAT(Found(), SizeIs(1));
  EXPECT_GT(Found()[0].confidence, kLeastConfidence);
}

// 114 LLDP frames within an hour, on the link of an idle host.
TEST_F(UnusableCountersTest, FewFramesThatNoNicMissesAreSuspected) {
  const topology::PortIndex sender = Port("leaf0", "host0");
  Finding finding = {.place = OneWay("leaf0", "host0"), .confidence = 0.98, .evidence = {"lost"}};
  const auto doubt = [&](uint64_t frames, Duration duration) {
    Finding one = finding;
    In([&](const DiagnosisInput& input) {
      const Timestamp last = input.EndOf(kWindows - 1);
      DoubtLoss(input, {.frames = frames, .from = last - duration, .last = last}, one);
      return 0;
    });
    return one.confidence;
  };
  EXPECT_EQ(doubt(114, std::chrono::hours(1)), kContradicted);
  EXPECT_EQ(doubt(114, std::chrono::seconds(10)), 0.98) << "too many for control frames";
  Grows(Port("host1", "leaf0"), Metric::kOutOfSequence, 10, 20);
  EXPECT_EQ(doubt(114, std::chrono::hours(1)), kContradicted) << "of another link";
  Grows(fabric_.Peer(sender), Metric::kOutOfSequence, 10, 20);
  EXPECT_EQ(doubt(114, std::chrono::hours(1)), 0.98);
}

}  // namespace
}  // namespace rocescope
