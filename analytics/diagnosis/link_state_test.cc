// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/link_state_fixture.h"

namespace rocescope {
namespace {

TEST_F(LinkStateTest, NothingIsWrongWhereAllIsUp) { EXPECT_TRUE(Found().empty()); }

TEST_F(LinkStateTest, ALinkWhoseEndsSayDownIsDown) {
  IsDown("leaf0", "spine1", 8, 11);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLinkDown);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine1"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(11));
  EXPECT_EQ(found[0].detected_at, End(8));
}

// Between two readings that find it up.
TEST_F(LinkStateTest, ALinkThatFellForAMomentIsHalfConfident) {
  const topology::PortIndex port = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) {
    Says(port, Metric::kLinkUp, w, 1);
    Says(fabric_.Peer(port), Metric::kLinkUp, w, 1);
  }
  Grows(port, Metric::kLinkFlaps, 8, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLinkDown);
  EXPECT_DOUBLE_EQ(found[0].confidence, 0.49);
}

// A fall that a missing reading moves to the next one is not moved again by a further one.
TEST_F(LinkStateTest, AFallIsThatOfTheNextReading) {
  const topology::PortIndex port = Port("leaf0", "spine0");
  Grows(port, Metric::kLinkFlaps, 10, 1);
  SkipsReadings(EntityOf(port), 11, 11);
  SkipsReadings(EntityOf(port), 13, 13);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(12));
}

TEST_F(LinkStateTest, ALinkThatStaysDownGoesOn) {
  IsDown("leaf0", "spine1", 8, kWindows - 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].until);
}

TEST_F(LinkStateTest, ASecondFallMakesItAFlap) {
  const topology::PortIndex port = Port("leaf0", "spine1");
  Grows(port, Metric::kLinkFlaps, 5, 1);
  Grows(port, Metric::kLinkFlaps, 9, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kFlap);
  EXPECT_EQ(found[0].from, Begin(5));
  EXPECT_EQ(found[0].detected_at, End(9));
}

// Both ends count the one fall, in neighbouring windows: they are read at other moments.
TEST_F(LinkStateTest, OneFallThatBothEndsCountIsNoFlap) {
  IsDown("leaf0", "spine1", 9, 12);
  Grows(Port("leaf0", "spine1"), Metric::kLinkFlaps, 8, 1);
  Grows(Port("spine1", "leaf0"), Metric::kLinkFlaps, 9, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLinkDown);
}

// sFlow has no counter of falls.
TEST_F(LinkStateTest, ReadingsThatFallTwiceMakeItAFlapToo) {
  IsDown("leaf0", "spine1", 5, 6);
  IsDown("leaf0", "spine1", 9, 9);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kFlap);
  EXPECT_EQ(found[0].detected_at, End(9));
  EXPECT_EQ(found[0].evidence, std::vector<std::string>{"it went down 2 times"});
}

TEST_F(LinkStateTest, ACableThatIsNotThereDoesNotKeepASwitchAlive) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2"}) IsDown(leaf, "spine1", 8, kWindows - 1);
  IsDown("leaf3", "spine1", 0, kWindows - 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
}

TEST_F(LinkStateTest, ALinkThatWasNeverUpIsNoFaultOfItsOwn) {
  IsDown("leaf0", "spine1", 0, kWindows - 1);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LinkStateTest, ASwitchWithoutAnyLinkIsGone) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    SaysDown(Port(leaf, "spine1"), 8, kWindows - 1);
    FallsSilent(EntityOf(Port("spine1", leaf)), 8);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
  EXPECT_EQ(found[0].place, Switch("spine1"));
  EXPECT_EQ(found[0].from, Begin(8));
}

// Its neighbours may be wrong, or somebody may have forged what they report.
TEST_F(LinkStateTest, ASwitchThatReportsItsOwnLinksAsUpHasProbablyNotCrashed) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    SaysDown(Port(leaf, "spine1"), 8, kWindows - 1);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
  EXPECT_TRUE(IsSuspected(found[0])) << found[0].confidence;
  EXPECT_THAT(found[0].evidence[0], testing::HasSubstr("itself reported spine1:"));
  are_ports_from_sflow_ = true;
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_THAT(Found()[0].evidence[0], testing::Not(testing::HasSubstr("itself reported")));
}

TEST_F(LinkStateTest, ASwitchWithOneLinkLeftIsNotGone) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2"}) IsDown(leaf, "spine1", 8, kWindows - 1);
  const Findings found = Found();
  EXPECT_EQ(found.size(), 3u);
  for (const Finding& finding : found) EXPECT_EQ(finding.kind, FaultKind::kLinkDown);
}

// The link to leaf0 fails before the switch, and flapped before that.
TEST_F(LinkStateTest, AnEarlierFaultOfALinkDoesNotHideACrash) {
  IsDown("leaf0", "spine1", 2, 2);
  IsDown("leaf0", "spine1", 5, 14);
  for (const char* leaf : {"leaf1", "leaf2", "leaf3"}) SaysDown(Port(leaf, "spine1"), 8, 14);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    SkipsReadings(EntityOf(Port("spine1", leaf)), 8, 14);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(14));
  EXPECT_EQ(found[1].kind, FaultKind::kFlap);
  EXPECT_EQ(found[1].from, Begin(2));
  EXPECT_EQ(found[1].until, End(7));
}

// spine1 crashes, and its link to leaf0 goes down once more afterwards. The counter of leaf0 grows
// between the reading that shows the link up and the one that shows it down.
TEST_F(LinkStateTest, AFallAfterACrashIsNotPartOfIt) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    SaysDown(Port(leaf, "spine1"), 8, 10);
    SkipsReadings(EntityOf(Port("spine1", leaf)), 8, 10);
  }
  SaysDown(Port("leaf0", "spine1"), 12, 14);
  Grows(Port("leaf0", "spine1"), Metric::kLinkFlaps, 7, 1);
  Grows(Port("leaf0", "spine1"), Metric::kLinkFlaps, 11, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
  EXPECT_EQ(found[0].until, End(10));
  EXPECT_EQ(found[1].kind, FaultKind::kLinkDown);
  EXPECT_EQ(found[1].from, Begin(12));
}

// Neighbours are read at different times, and one reading is lost.
TEST_F(LinkStateTest, NeighboursReportACrashInDifferentWindows) {
  SaysDown(Port("leaf0", "spine1"), 8, 14);
  SaysDown(Port("leaf1", "spine1"), 9, 14);
  SaysDown(Port("leaf2", "spine1"), 9, 15);
  SaysDown(Port("leaf3", "spine1"), 10, 14);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    SkipsReadings(EntityOf(Port("spine1", leaf)), 8, 15);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
}

// leaf3 is not read from before the crash until long after it.
TEST_F(LinkStateTest, ANeighbourThatIsNotReadDoesNotHideACrash) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    SaysDown(Port(leaf, "spine1"), 8, 16);
    Grows(Port(leaf, "spine1"), Metric::kLinkFlaps, 8, 1);
    SkipsReadings(EntityOf(Port("spine1", leaf)), 8, 16);
  }
  SkipsReadings(EntityOf(Port("leaf3", "spine1")), 5, 13);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
  EXPECT_EQ(found[0].from, Begin(8));
}

TEST_F(LinkStateTest, ASwitchThatCrashesTwiceIsReportedTwice) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    IsDown(leaf, "spine1", 4, 6);
    IsDown(leaf, "spine1", 12, 15);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].from, Begin(4));
  EXPECT_EQ(found[1].from, Begin(12));
}

// Neither the NIC nor the GPUs of a host report while it reboots.
class RebootTest : public LinkStateTest {
 protected:
  RebootTest() {
    for (size_t w = 0; w < kWindows; ++w) Says(OfGpu(GpuOf("host5")), Metric::kMemoryTotal, w, 80);
  }
  void Reboots(size_t first, size_t last) {
    SaysDown(Port("leaf1", "host5"), first, last);
    SkipsReadings(OfNic(NicOf("host5")), first, last);
    SkipsReadings(OfGpu(GpuOf("host5")), first, last);
  }
};

TEST_F(RebootTest, AHostThatRebootsTwiceIsNoFlap) {
  Reboots(3, 6);
  Reboots(12, 16);
  EXPECT_TRUE(Found().empty());
}

TEST_F(RebootTest, AHostThatTogglesItsLinkDuringBootIsNoFlap) {
  Reboots(8, 14);
  Says(Port("leaf1", "host5"), Metric::kLinkUp, 12, 1);
  EXPECT_TRUE(Found().empty());
  Grows(Port("leaf1", "host5"), Metric::kLinkFlaps, 8, 1);
  Grows(Port("leaf1", "host5"), Metric::kLinkFlaps, 12, 2);
  EXPECT_TRUE(Found().empty());
}

TEST_F(RebootTest, AFlapAfterARebootIsAFlap) {
  Reboots(2, 10);
  IsDown("leaf1", "host5", 13, 13);
  IsDown("leaf1", "host5", 16, 16);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kFlap);
  EXPECT_EQ(found[0].from, Begin(13));
  EXPECT_EQ(found[0].detected_at, End(16));
}

TEST_F(LinkStateTest, ANicThatTellsNothingAnyMoreIsGone) {
  SaysDown(Port("leaf1", "host5"), 8, kWindows - 1);
  FallsSilent(OfNic(NicOf("host5")), 8);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kNicCrash);
  EXPECT_EQ(found[0].place, Nic("host5"));
  EXPECT_TRUE(found[0].alternatives.empty());
}

TEST_F(LinkStateTest, ANicThatSaysItsLinkIsDownIsNotGone) {
  IsDown("leaf1", "host5", 8, kWindows - 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLinkDown);
}

TEST_F(LinkStateTest, ANicThatWasNeverUpIsNoCrash) {
  SaysDown(Port("leaf1", "host5"), 0, kWindows - 1);
  FallsSilent(OfNic(NicOf("host5")), 0);
  EXPECT_TRUE(Found().empty());
}

// The switch sees the same of both; cables and transceivers fail more often.
TEST_F(LinkStateTest, WhereNicsTellNothingALinkThatIsDownMayBeEither) {
  SaysDown(Port("leaf1", "host5"), 8, kWindows - 1);
  NeverTells(OfNic(NicOf("host5")), Metric::kLinkUp);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLinkDown);
  EXPECT_EQ(found[0].place, Link("leaf1", "host5"));
  EXPECT_DOUBLE_EQ(found[0].confidence, 0.6);
  const Suspect crash = {.kind = FaultKind::kNicCrash, .place = Nic("host5"), .probability = 0.4};
  EXPECT_THAT(found[0].alternatives, testing::ElementsAre(crash));
  EXPECT_FALSE(found[0].further.empty());
}

TEST_F(LinkStateTest, APortBelowItsSpeedIsSlowInItsDirection) {
  for (size_t w = 8; w < 12; ++w)
    Says(Port("spine0", "leaf2"), Metric::kLinkSpeed, w, 25'000'000'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kDegradedRate);
  EXPECT_EQ(found[0].place, OneWay("spine0", "leaf2"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(11));
}

TEST_F(LinkStateTest, BothEndsBelowItsSpeedAreTheLink) {
  Says(Port("spine0", "leaf2"), Metric::kLinkSpeed, kWindows - 1, 25'000'000'000);
  Says(Port("leaf2", "spine0"), Metric::kLinkSpeed, kWindows - 1, 25'000'000'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf2", "spine0"));
}

TEST_F(LinkStateTest, ARoundedSpeedIsNotASlowLink) {
  const uint64_t declared = fabric_.link(Link("leaf2", "spine0").index).bits_per_second;
  Says(Port("spine0", "leaf2"), Metric::kLinkSpeed, 8, declared - 1);
  Says(Port("spine0", "leaf2"), Metric::kLinkSpeed, 9, declared / 100 * 99);
  EXPECT_TRUE(Found().empty());
}

// Some exporters report a speed of 0 for a link that is down.
TEST_F(LinkStateTest, NoSpeedIsNotASlowLink) {
  Says(Port("spine0", "leaf2"), Metric::kLinkSpeed, 8, 0);
  EXPECT_TRUE(Found().empty());
}

// Both ends of a link count its outages.
TEST_F(LinkStateTest, OutagesThatOnlyOneEndCountsAreSuspected) {
  const topology::PortIndex port = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) Grows(fabric_.Peer(port), Metric::kLinkFlaps, w, 0);
  Grows(port, Metric::kLinkFlaps, 5, 300);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kFlap);
  EXPECT_EQ(Found()[0].confidence, kContradicted);
  EXPECT_EQ(Found()[0].evidence[0],
            "it went down 300 times, but no reading shows it down: the counter of outages is "
            "probably wrong");
  Grows(fabric_.Peer(port), Metric::kLinkFlaps, 6, 290);
  Says(port, Metric::kLinkUp, 5, 0);
  EXPECT_GT(Found()[0].confidence, 0.9);
}

TEST_F(LinkStateTest, StateThatTheOtherEndContradictsIsSuspected) {
  const topology::PortIndex port = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) Grows(fabric_.Peer(port), Metric::kLinkFlaps, w, 0);
  SaysDown(port, 8, kWindows - 1);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kLinkDown);
  EXPECT_EQ(Found()[0].confidence, kContradicted);
  SaysDown(fabric_.Peer(port), 9, kWindows - 1);
  EXPECT_GT(Found()[0].confidence, 0.9);
}

TEST_F(LinkStateTest, SpeedThatMostPortsOfASwitchReportIsSuspected) {
  const topology::Node& leaf = fabric_.node(Node("leaf2"));
  for (uint32_t i = 0; i < leaf.port_count; ++i) {
    for (size_t w = 0; w < kWindows; ++w) {
      Says(leaf.first_port + i, Metric::kLinkSpeed, w, 25'000'000'000);
    }
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), leaf.port_count);
  for (const Finding& finding : found) EXPECT_EQ(finding.confidence, kContradicted);
}

TEST_F(LinkStateTest, SpeedOf32BitsIsUnknown) {
  for (size_t w = 0; w < kWindows; ++w) {
    Says(Port("spine0", "leaf2"), Metric::kLinkSpeed, w, 4'294'967'295);
  }
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace rocescope
