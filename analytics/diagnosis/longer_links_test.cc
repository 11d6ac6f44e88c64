// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

class LongerLinksTest : public DiagnosisTest {
 protected:
  using DiagnosisTest::DiagnosisTest;

  using Nodes = std::vector<std::string>;

  // Ten packets a window, which take 1 us; in windows first to last, so much longer.
  void Takes(const Nodes& nodes, int64_t longer = 0, size_t first = 8, size_t last = 14) {
    Takes(Way(DelayKind::kTransit, nodes), longer, first, last);
  }
  void Takes(const DelayKey& key, int64_t longer, size_t first = 8, size_t last = 14) {
    DiagnosisTest::Takes(key, 0, kWindows - 1, {.least = 1000, .count = 10});
    DiagnosisTest::Takes(key, first, last, {.least = 1000 + longer, .count = 10});
  }
  // All ways from a leaf by a spine to another leaf; those over one link take so much longer.
  void AllPairsTake(std::string_view from, std::string_view to, int64_t longer) {
    for (const std::string spine : {"spine0", "spine1"}) {
      for (const std::string a : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
        for (const std::string b : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
          if (a == b) continue;
          const bool over = (a == from && spine == to) || (spine == from && b == to);
          const DelayKey key = Way(DelayKind::kTransit, {a, spine, b});
          if (over || !delays_.contains(key)) Takes(key, over ? longer : 0);
        }
      }
    }
  }
  Findings Found() { return DiagnosisTest::Found(DetectLongerLinks); }
};

TEST_F(LongerLinksTest, NothingIsLongerThatTakesWhatItTook) {
  Takes({"leaf0", "spine1"});
  AllPairsTake("", "", 0);
  EXPECT_TRUE(Found().empty());
}

// In windows 2 and 18, packets waited in a queue that nobody reported.
TEST_F(LongerLinksTest, ShorterDelaysAtOtherTimesDoNotHideALongerLink) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 9000);
  for (const size_t w : {2, 18}) DiagnosisTest::Takes(key, w, w, {.least = 4000, .count = 10});
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(14));
}

TEST_F(LongerLinksTest, AsLongADelayAtAnotherTimeDoesNotHideALongerLink) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 9000);
  DiagnosisTest::Takes(key, 2, 2, {.least = 10'000, .count = 10});
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(8));
}

// Two windows in a row are late by chance if others are late as well.
TEST_F(LongerLinksTest, APathThatIsOccasionallyLateIsNotLonger) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 9000, 8, 9);
  EXPECT_EQ(Found().size(), 1u);
  for (const size_t w : {2, 5, 12, 16})
    DiagnosisTest::Takes(key, w, w, {.least = 10'000, .count = 10});
  EXPECT_TRUE(Found().empty());
}

// All paths take 20 us longer in windows 5 to 9, and those over one link 5 us more in 8 to 14.
TEST_F(LongerLinksTest, ADelayOfAllPathsIsSubtracted) {
  AllPairsTake("leaf0", "spine0", 5000);
  for (const auto& [key, windows] : delays_) {
    const bool is_longer = key.from == Node("leaf0") && windows[10].least > 1000;
    DiagnosisTest::Takes(key, 5, 7, {.least = 21'000, .count = 10});
    DiagnosisTest::Takes(key, 8, 9, {.least = is_longer ? 26'000 : 21'000, .count = 10});
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_THAT(found[0].evidence[0], HasSubstr("5.0 us longer"));
}

// Every path from leaf0 takes longer, and no other: its uplinks, or the link of a rerouted site.
TEST_F(LongerLinksTest, ADelayOfAllPathsFromALeafIsNotSubtracted) {
  AllPairsTake("", "", 0);
  for (const std::string spine : {"spine0", "spine1"}) {
    for (const std::string to : {"leaf1", "leaf2", "leaf3"}) Takes({"leaf0", spine, to}, 5000);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
  EXPECT_EQ(found[1].place, OneWay("leaf0", "spine1"));
}

// The path is back to normal for five windows.
TEST_F(LongerLinksTest, ALinkThatIsLongerTwiceIsReported) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 9000, 2, 8);
  DiagnosisTest::Takes(key, 12, 19, {.least = 10'000, .count = 10});
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(12));
}

// A queue may have been there since before the data.
TEST_F(LongerLinksTest, ADelayThatTheDataBeginWithIsNotLongerThanBefore) {
  Takes(Way(DelayKind::kTransit, {"leaf0", "spine1"}), 5000, 0, 5);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LongerLinksTest, ALinkThatTakesLongerThanItDidHasAddedLatency) {
  Takes({"leaf0", "spine1"}, 5000);
  Takes({"spine1", "leaf0"});
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kAddedLatency);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine1"));
  EXPECT_EQ(found[0].basis, Basis::kItself);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(9)) << "the second window says the same";
  EXPECT_EQ(found[0].until, End(14));
  EXPECT_THAT(found[0].evidence[0], HasSubstr("5.0 us longer"));
  EXPECT_THAT(found[0].evidence[0], HasSubstr("70 packets in 7 windows"));
}

TEST_F(LongerLinksTest, ALinkThatStaysLongerGoesOn) {
  Takes({"leaf0", "spine1"}, 5000, 8, kWindows - 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].until);
}

// At 10 Gb/s a frame of 4178 bytes takes 3.3 us.
class SlowLinksTest : public LongerLinksTest {
 protected:
  SlowLinksTest() : LongerLinksTest(2, 10'000'000'000) {}
};

TEST_F(SlowLinksTest, OneThatCarriesLongFramesAloneForAWhileIsNotLonger) {
  Takes({"leaf0", "spine1"}, 3300);
  EXPECT_TRUE(Found().empty());
}

TEST_F(SlowLinksTest, OneThatTakesLongerThanALongFrameIs) {
  Takes({"leaf0", "spine1"}, 5000);
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(LongerLinksTest, BothDirectionsAreOneLink) {
  Takes({"leaf0", "spine1"}, 5000);
  Takes({"spine1", "leaf0"}, 5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine1"));
  EXPECT_EQ(found[0].evidence.size(), 2u);
}

TEST_F(LongerLinksTest, BothDirectionsLastFromTheFirstToTheLast) {
  Takes(Way(DelayKind::kTransit, {"leaf0", "spine1"}), 5000, 10, 12);
  Takes(Way(DelayKind::kTransit, {"spine1", "leaf0"}), 5000, 8, 11);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(9));
  EXPECT_EQ(found[0].until, End(12));
}

// leaf0 > spine0 > leaf1 and back are longer; the first cable of either may be it, or the second.
// Of the way over spine0 > leaf1 one is not longer.
TEST_F(LongerLinksTest, RivalsAreThoseThatExplainBothDirections) {
  Takes({"leaf0", "spine0", "leaf1"}, 5000);
  Takes({"leaf1", "spine0", "leaf0"}, 5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine0"));
  ASSERT_EQ(found[0].alternatives.size(), 1u);
  EXPECT_EQ(found[0].alternatives[0].place, Link("leaf1", "spine0"));
  EXPECT_NEAR(found[0].confidence + found[0].alternatives[0].probability, 0.95, 1e-6);
}

// Two packets of the second window make no five with the two of the first.
TEST_F(LongerLinksTest, TheDetectionIsWhereFivePacketsAndTwoWindowsHadSaidIt) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 0);
  DiagnosisTest::Takes(key, 8, 12, {.least = 6000, .count = 2});
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(10));
}

TEST_F(LongerLinksTest, TwoLinksOfOneSwitchAreTwo) {
  Takes({"leaf0", "spine0"}, 5000);
  Takes({"leaf0", "spine1"}, 5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
  EXPECT_EQ(found[1].place, OneWay("leaf0", "spine1"));
}

// The mirror session has no port information, but there is only one cable between the switches.
TEST_F(LongerLinksTest, AnOnlyCableIsKnownWithoutAPort) {
  Takes({.kind = DelayKind::kTransit,
         .from = Node("leaf0"),
         .to = Node("spine1"),
         .to_node = true,
         .hops = 1},
        5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine1"));
}

// What is below a microsecond or so is the clocks' grain.
TEST_F(LongerLinksTest, AMicrosecondIsNothing) {
  Takes({"leaf0", "spine1"}, 1000);
  EXPECT_TRUE(Found().empty());
}

// 62,500 bytes at 100 Gb/s take 5 us.
TEST_F(LongerLinksTest, AQueueThatExplainsTheDelayIsNoLongerLink) {
  Takes({"leaf0", "spine1"}, 5000);
  const auto queue = [&](uint64_t bytes) {
    for (size_t w = 8; w < 15; ++w) {
      Says(Port("leaf0", "spine1"), Metric::kQueueWatermark, w, bytes, kRoce);
    }
  };
  queue(62'500);
  EXPECT_TRUE(Found().empty());
  queue(25'000);
  EXPECT_EQ(Found().size(), 1u) << "2 us do not explain 5";
}

// The queue stands for a window: even the least waits, and the longest for no more than all of it.
TEST_F(LongerLinksTest, WhoeverWaitsBehindAQueueThatStandsIsNoLongerOnHisWay) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 0);
  DiagnosisTest::Takes(key, 8, 14, {.least = 61'000, .next_most = 101'500, .count = 10});
  for (size_t w = 8; w < 15; ++w) {  // 100 us
    Says(Port("leaf0", "spine1"), Metric::kQueueWatermark, w, 1'250'000, kRoce);
  }
  EXPECT_TRUE(Found().empty());
  DiagnosisTest::Takes(key, 8, 14, {.least = 61'000, .next_most = 161'000, .count = 10});
  EXPECT_EQ(Found().size(), 1u) << "60 us longer for all";
}

TEST_F(LongerLinksTest, EitherQueueOfTwoInARowMayExplainTheDelay) {
  Takes({"leaf0", "spine1", "leaf2"}, 5000);
  for (size_t w = 8; w < 15; ++w) {
    Says(Port("spine1", "leaf2"), Metric::kQueueWatermark, w, 62'500, kRoce);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(LongerLinksTest, APauseThatExplainsTheDelayIsNoLongerLink) {
  Takes({"leaf0", "spine1"}, 5000);
  Takes({"leaf2", "spine1"}, 5000);
  for (size_t w = 8; w < 15; ++w) {
    Grows(Port("leaf0", "spine1"), Metric::kPfcRxTime, w, 5000, kRoce);
    Grows(Port("spine1", "leaf2"), Metric::kPfcTxTime, w, 5000, kRoce);  // it holds leaf2
  }
  EXPECT_TRUE(Found().empty());
}

// INT says how long a packet stayed in the switch: that is taken out already.
TEST_F(LongerLinksTest, AQueueExplainsNothingOfTheWireAlone) {
  Takes(Way(DelayKind::kWire, {"leaf0", "spine1"}), 5000);
  for (size_t w = 8; w < 15; ++w) {
    Says(Port("leaf0", "spine1"), Metric::kQueueWatermark, w, 62'500, kRoce);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(Found()[0].is_by_int);
}

TEST_F(LongerLinksTest, MirrorsThatAgreeWithIntAreEnough) {
  Takes(Way(DelayKind::kWire, {"leaf0", "spine1"}), 5000);
  Takes({"leaf0", "spine1"}, 5000);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(Found()[0].is_by_int);
}

TEST_F(LongerLinksTest, OneLateWindowIsNothing) {
  Takes({"leaf0", "spine1"}, 5000, 8, 8);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LongerLinksTest, FourPacketsAreTooFew) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 0);
  DiagnosisTest::Takes(key, 8, 9, {.least = 6000, .count = 2});
  EXPECT_TRUE(Found().empty());
  DiagnosisTest::Takes(key, 9, 9, {.least = 6000, .count = 3});
  EXPECT_EQ(Found().size(), 1u);
}

// The first copy of a packet that was sent again comes before the second one goes.
TEST_F(LongerLinksTest, PacketsThatSeemToComeTooEarlyMakeNobodyLate) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 0);
  DiagnosisTest::Takes(key, 0, 1, {.least = -20'000, .count = 10});
  EXPECT_TRUE(Found().empty());
}

// A longer path stays longer; a delay that comes and goes is a queue that no counter reports.
TEST_F(LongerLinksTest, ADelayThatComesAndGoesIsNoLongerLink) {
  const DelayKey key = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(key, 5000);
  DiagnosisTest::Takes(key, 11, 11, {.least = 1000, .count = 10});
  EXPECT_TRUE(Found().empty());
}

// The next window says nothing either: packets of the queue may arrive in it.
TEST_F(LongerLinksTest, AWindowWhoseQueueHidesItSaysNothingEitherWay) {
  Takes({"leaf0", "spine1"}, 5000);
  Says(Port("leaf0", "spine1"), Metric::kQueueWatermark, 11, 62'500, kRoce);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(14));
  EXPECT_THAT(found[0].evidence[0], HasSubstr("in 5 windows"));
}

// leaf0 > spine0 is one cable of each of the three ways that are longer; the second cables are
// three, and other ways over them are not longer.
TEST_F(LongerLinksTest, OfTwoLinksInARowTheOneThatAllLongerWaysShareIsIt) {
  AllPairsTake("leaf0", "spine0", 5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kAddedLatency);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
}

TEST_F(LongerLinksTest, ItMayBeTheSecondLink) {
  AllPairsTake("spine1", "leaf3", 5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("spine1", "leaf3"));
}

// Nothing clears the second cables, but one cable explains what takes three of them.
TEST_F(LongerLinksTest, TheFewestCablesThatExplainAllAreBlamed) {
  Takes({"leaf0", "spine0", "leaf1"}, 5000);
  Takes({"leaf0", "spine0", "leaf2"}, 5000);
  Takes({"leaf0", "spine0", "leaf3"}, 5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
}

TEST_F(LongerLinksTest, TwoLongerLinksThatShareAWayAreBothFound) {
  AllPairsTake("leaf0", "spine0", 5000);
  AllPairsTake("spine0", "leaf3", 5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
  EXPECT_EQ(found[1].place, OneWay("spine0", "leaf3"));
}

TEST_F(LongerLinksTest, BothDirectionsOfTheFirstAndSecondLinkAreOneLink) {
  AllPairsTake("leaf0", "spine0", 5000);
  AllPairsTake("spine0", "leaf0", 5000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine0"));
}

// Most of the paths over either of its cables have their previous delay.
TEST_F(LongerLinksTest, AWayThatAloneIsLongerBlamesNoCable) {
  AllPairsTake("", "", 0);
  Takes({"leaf0", "spine0", "leaf1"}, 5000);
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace rocescope
