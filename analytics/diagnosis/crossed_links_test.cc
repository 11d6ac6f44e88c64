// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

// Each link carries its own number of frames of 1000 bytes in each direction.
class CrossedLinksTest : public DiagnosisTest {
 protected:
  CrossedLinksTest() : to_(fabric_.ports().size()) {
    for (topology::PortIndex port = 0; port < to_.size(); ++port) to_[port] = fabric_.Peer(port);
  }
  // In truth these two are connected.
  void Connects(topology::PortIndex a, topology::PortIndex b) {
    to_[a] = b;
    to_[b] = a;
  }
  void Carry(size_t first = 0, size_t last = kWindows - 1) {
    for (size_t w = first; w <= last; ++w) {
      for (topology::PortIndex port = 0; port < to_.size(); ++port) {
        if (!silent_.contains(port)) Sends(port, w, 1000 + 7 * port);
      }
    }
  }
  void Sends(topology::PortIndex port, size_t window, uint64_t frames, uint64_t lost = 0) {
    Grows(port, Metric::kTxPackets, window, frames);
    Grows(port, Metric::kTxBytes, window, frames * 1000);
    Grows(to_[port], Metric::kRxPackets, window, frames - lost);
    Grows(to_[port], Metric::kRxBytes, window, (frames - lost) * 1000);
  }
  Findings Found() { return DiagnosisTest::Found(DetectCrossedLinks); }

  std::vector<topology::PortIndex> to_;
  std::set<topology::PortIndex> silent_;
};

TEST_F(CrossedLinksTest, NoneAreWhereEachReceivesWhatItsPeerSends) {
  Carry();
  EXPECT_TRUE(Found().empty());
}

// At 100 Gb/s and 1 us, 12.5 frames are under way: of 14 to 28 a window too many or too few, ten
// times that are past after several.
TEST_F(CrossedLinksTest, TwoWhoseFarEndsAreExchangedAreOneFinding) {
  Connects(Port("leaf0", "spine0"), Port("spine0", "leaf1"));
  Connects(Port("leaf1", "spine0"), Port("spine0", "leaf0"));
  Carry();
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwappedCables);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine0"));
  EXPECT_FALSE(found[0].until);
  EXPECT_GT(found[0].detected_at, found[0].from);
  ASSERT_EQ(found[0].symptoms.size(), 1u);
  EXPECT_EQ(found[0].symptoms[0].place, Link("leaf1", "spine0"));
  const std::string& evidence = found[0].evidence[0];
  EXPECT_THAT(evidence, testing::HasSubstr(fabric_.NameOf(Port("leaf0", "spine0"))));
  EXPECT_THAT(evidence, testing::HasSubstr(fabric_.NameOf(Port("spine0", "leaf1"))));
}

TEST_F(CrossedLinksTest, TheyMayBeOfFourSwitches) {
  Connects(Port("leaf0", "spine0"), Port("spine1", "leaf1"));
  Connects(Port("leaf1", "spine1"), Port("spine0", "leaf0"));
  Carry();
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine0"));
  EXPECT_EQ(found[0].symptoms.at(0).place, Link("leaf1", "spine1"));
}

TEST_F(CrossedLinksTest, OneOfTheCablesMayCarryNothing) {
  Connects(Port("leaf0", "spine0"), Port("spine0", "leaf1"));
  Connects(Port("leaf1", "spine0"), Port("spine0", "leaf0"));
  silent_ = {Port("leaf1", "spine0"), Port("spine0", "leaf0")};
  Carry();
  EXPECT_EQ(Found().size(), 1u);
}

// Only leaf0 sends. Its frames arrive at a port whose declared other end sends nothing.
TEST_F(CrossedLinksTest, OneDirectionOfOneCableSuffices) {
  Connects(Port("leaf0", "spine0"), Port("spine1", "leaf1"));
  Connects(Port("leaf1", "spine1"), Port("spine0", "leaf0"));
  silent_ = {Port("spine1", "leaf1"), Port("leaf1", "spine1"), Port("spine0", "leaf0")};
  Carry();
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwappedCables);
}

TEST_F(CrossedLinksTest, TwoThatLoseFramesAreNot) {
  Carry();
  for (size_t w = 0; w < kWindows; ++w) {
    Sends(Port("leaf0", "spine0"), w, 500, 500);
    Sends(Port("spine0", "leaf1"), w, 300, 300);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(CrossedLinksTest, ThoseThatPathsHaveToldOfAreNotToldTwice) {
  Connects(Port("leaf0", "spine0"), Port("spine0", "leaf1"));
  Connects(Port("leaf1", "spine0"), Port("spine0", "leaf0"));
  Carry();
  cabling_.findings = {
      {.kind = CableFindingKind::kSwapped,
       .declared = {Link("leaf0", "spine0").index, Link("leaf1", "spine0").index}}};
  EXPECT_TRUE(Found().empty());
}

// The other end of one cable is unknown, but packets show that both are swapped.
TEST_F(CrossedLinksTest, SwappedCablesWithAnUnknownEndAreReportedOnce) {
  Connects(Port("leaf0", "spine0"), Port("spine0", "leaf1"));
  Connects(Port("leaf1", "spine0"), Port("spine0", "leaf0"));
  Carry();
  cabling_.findings = {{.kind = CableFindingKind::kDisagrees,
                        .declared = {Link("leaf0", "spine0").index, Link("leaf1", "spine0").index},
                        .real = {{Port("leaf0", "spine0"), Port("spine0", "leaf1")}},
                        .flows = 2}};
  EXPECT_EQ(DiagnosisTest::Found(DetectCables).size(), 1u);
  EXPECT_TRUE(Found().empty());
  cabling_.findings[0].flows = 1;
  EXPECT_TRUE(DiagnosisTest::Found(DetectCables).empty());
  EXPECT_EQ(Found().size(), 1u) << "a single flow does not suffice to report the cables";
}

// The frames sent during a reboot are unknown; the counters before and after it are complete.
TEST_F(CrossedLinksTest, OneWhoseCountersBeganAnewIsFoundToo) {
  Connects(Port("leaf0", "spine0"), Port("spine0", "leaf1"));
  Connects(Port("leaf1", "spine0"), Port("spine0", "leaf0"));
  Carry();
  FallsToZero(Port("leaf1", "spine0"), Metric::kTxPackets, 2);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine0"));
}

// Hosts' links carry what no other does; and all alike leave out two in a hundred frames.
TEST_F(CrossedLinksTest, NicsThatLeaveFramesOutOfTheirCountsAreNotCrossed) {
  for (size_t w = 0; w < kWindows; ++w) {
    for (topology::PortIndex port = 0; port < to_.size(); ++port) {
      const bool to_host = fabric_.NicOf(to_[port]) != topology::kNone;
      Sends(port, w, 1000, to_host ? 20 : 0);
    }
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(CrossedLinksTest, CrossedLinksAreFoundAmongNicsThatLeaveFramesOut) {
  Connects(Port("leaf0", "spine0"), Port("spine0", "leaf1"));
  Connects(Port("leaf1", "spine0"), Port("spine0", "leaf0"));
  for (size_t w = 0; w < kWindows; ++w) {
    for (topology::PortIndex port = 0; port < to_.size(); ++port) {
      const bool to_host = fabric_.NicOf(to_[port]) != topology::kNone;
      Sends(port, w, 1000 + 7 * port, to_host ? 20 : 0);
    }
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine0"));
}

// Nothing is known of one that sends: that another received nothing is no sign of a cable.
TEST_F(CrossedLinksTest, WithoutBytesNobodyKnowsWhatIsUnderWay) {
  Connects(Port("leaf0", "spine0"), Port("spine0", "leaf1"));
  Connects(Port("leaf1", "spine0"), Port("spine0", "leaf0"));
  Carry();
  for (topology::PortIndex port = 0; port < to_.size(); ++port) {
    NeverTells(EntityOf(port), Metric::kTxBytes);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(CrossedLinksTest, NobodyKnowsWhereCountersAreMissing) {
  Connects(Port("leaf0", "spine0"), Port("spine0", "leaf1"));
  Connects(Port("leaf1", "spine0"), Port("spine0", "leaf0"));
  Carry();
  NeverTells(EntityOf(Port("spine0", "leaf1")), Metric::kRxPackets);
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace rocescope
