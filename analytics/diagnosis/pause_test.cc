// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

class PauseTest : public DiagnosisTest {
 protected:
  // The port is held by its peer for a part of each window.
  void IsPaused(topology::PortIndex port, size_t first, size_t last, double part) {
    for (size_t w = first; w <= last; ++w) {
      Grows(port, Metric::kPfcRxTime, w,
            static_cast<uint64_t>(part * static_cast<double>(kWindow.count())), kRoce);
    }
  }
  // leaf0 > spine0 > leaf1 > spine1 > leaf0.
  void IsDeadlocked(size_t first, size_t last = kWindows - 1) {
    IsPaused(Port("leaf0", "spine0"), first, last, 1);
    IsPaused(Port("spine0", "leaf1"), first, last, 1);
    IsPaused(Port("leaf1", "spine1"), first, last, 1);
    IsPaused(Port("spine1", "leaf0"), first, last, 1);
  }
  FlowKey FlowOf(uint32_t qpn) const { return Flow("host0", "host4", qpn); }
  // What was seen of a flow agrees with no path of the fabric.
  void Strays(const std::vector<std::string>& nodes, uint32_t qpn, size_t first, size_t last) {
    PathInterval stretch{.from = Begin(first),
                         .until = End(last) - Duration(1),
                         .state = PathState::kStray,
                         .packets = 1000,
                         .bytes = 1'000'000};
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      stretch.shares.push_back({.port = Port(nodes[i], nodes[i + 1]), .share = 1});
    }
    paths_.push_back({.flow = FlowOf(qpn),
                      .source = NicOf("host0"),
                      .destination = NicOf("host4"),
                      .intervals = {stretch}});
  }
  Findings Found() { return DiagnosisTest::Found(DetectPauses); }
};

TEST_F(PauseTest, NobodyIsToBlameWhereNobodyPauses) { EXPECT_TRUE(Found().empty()); }

TEST_F(PauseTest, ANicThatHoldsItsSwitchAllOfTheTimeMakesAStorm) {
  for (size_t w = 0; w < 8; ++w) Carries(Port("leaf0", "host1"), w, 5000);
  IsPaused(Port("leaf0", "host1"), 8, 14, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kPfcStorm);
  EXPECT_EQ(found[0].place, Nic("host1"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(14));
  EXPECT_EQ(found[0].detected_at, End(9));
}

// The NIC pauses its switch for 200 windows. In `busy` of them, it receives traffic nevertheless.
TEST_F(PauseTest, ALongStormMayHaveFewWindowsWithTraffic) {
  const topology::PortIndex port = Port("leaf0", "host1");
  const auto kind_with = [&](size_t busy) {
    MetricStore metrics(fabric_, {.window = kWindow});
    CounterRecord paused{
        .entity = {.kind = EntityKind::kPort, .node = "leaf0", .port = fabric_.port(port).name},
        .metric = Metric::kPfcRxTime,
        .event_time = Begin(0)};
    CounterRecord sent = paused;
    paused.entity.priority = kRoce;
    sent.metric = Metric::kTxBytes;
    metrics.Add(paused);
    metrics.Add(sent);
    for (size_t w = 0; w < 200; ++w) {
      paused.event_time = sent.event_time = End(w);
      paused.value += static_cast<uint64_t>(kWindow.count());
      if (w >= 50 && w < 50 + busy) sent.value += kLine / 2;
      metrics.Add(paused);
      metrics.Add(sent);
    }
    const Findings found = In(metrics, [](const DiagnosisInput& input) {
      Findings all;
      DetectPauses(input, all);
      return all;
    });
    return found.empty() ? FaultKind::kLinkDown : found[0].kind;
  };
  EXPECT_EQ(kind_with(0), FaultKind::kPfcStorm);
  EXPECT_EQ(kind_with(2), FaultKind::kPfcStorm);
  EXPECT_EQ(kind_with(20), FaultKind::kSlowReceiver);
}

TEST_F(PauseTest, ANicThatTakesLessThanComesIsASlowReceiver) {
  for (size_t w = 0; w < kWindows; ++w) Carries(Port("leaf0", "host1"), w, 5000);
  IsPaused(Port("leaf0", "host1"), 8, kWindows - 1, 0.6);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
  EXPECT_EQ(found[0].place, Nic("host1"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(8));
  EXPECT_FALSE(found[0].until);
}

TEST_F(PauseTest, APauseNowAndThenIsWhatPfcIsFor) {
  for (size_t w = 0; w < kWindows; w += 2) IsPaused(Port("leaf0", "host1"), w, w, 0.01);
  EXPECT_TRUE(Found().empty());
}

TEST_F(PauseTest, ALowerThresholdReportsShorterPauses) {
  thresholds_.pause_ratio = 0.005;
  for (size_t w = 0; w < kWindows; w += 2) IsPaused(Port("leaf0", "host1"), w, w, 0.01);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
}

TEST_F(PauseTest, OneWindowWithPausesIsHalfConfident) {
  IsPaused(Port("leaf0", "host1"), 8, 8, 0.3);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
  EXPECT_DOUBLE_EQ(found[0].confidence, 0.97 / 2);
}

// Long before the storm it had paused once: that makes it no slow receiver.
TEST_F(PauseTest, AStormLongAfterAPauseIsAStorm) {
  IsPaused(Port("leaf0", "host1"), 1, 1, 0.3);
  IsPaused(Port("leaf0", "host1"), 10, 16, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
  EXPECT_EQ(found[0].until, End(1));
  EXPECT_EQ(found[1].kind, FaultKind::kPfcStorm);
  EXPECT_EQ(found[1].from, Begin(10));
}

TEST_F(PauseTest, SeveralPrioritiesAtOnceAreOneStory) {
  for (size_t w = 8; w < 14; ++w) {
    Grows(Port("leaf0", "host1"), Metric::kPfcRxTime, w, 300'000, 2);
    Grows(Port("leaf0", "host1"), Metric::kPfcRxTime, w, static_cast<uint64_t>(kWindow.count()), 4);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kPfcStorm);
}

// It begins at a twentieth of window 8, until which the link was full.
TEST_F(PauseTest, WhatWasSentBeforeAStormBeganSaysNothingOfIt) {
  Carries(Port("leaf0", "host1"), 8, 500);
  IsPaused(Port("leaf0", "host1"), 8, 8, 0.96);
  IsPaused(Port("leaf0", "host1"), 9, 14, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kPfcStorm);
}

// Held for nearly all of the time, and yet a tenth of the line rate goes through.
TEST_F(PauseTest, WhoeverStillTakesSomethingMakesNoStorm) {
  for (size_t w = 0; w < kWindows; ++w) Carries(Port("leaf0", "host1"), w, 1250);
  IsPaused(Port("leaf0", "host1"), 8, 14, 0.97);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
}

TEST_F(PauseTest, ANicThatItsSwitchHoldsIsNotToBlame) {
  IsPaused(Port("host1", "leaf0"), 8, 14, 1);
  EXPECT_TRUE(Found().empty());
}

TEST_F(PauseTest, TheNicsOwnCountersSayItWhereTheSwitchDoesNot) {
  for (size_t w = 8; w < 15; ++w) {
    Grows(Port("host1", "leaf0"), Metric::kPfcTxTime, w, static_cast<uint64_t>(kWindow.count()),
          kRoce);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kPfcStorm);
}

TEST_F(PauseTest, PortsThatWaitForEachOtherInALoopAreADeadlock) {
  const std::vector<topology::PortIndex> loop = {Port("leaf0", "spine0"), Port("spine0", "leaf1"),
                                                 Port("leaf1", "spine1"), Port("spine1", "leaf0")};
  for (const topology::PortIndex port : loop) IsPaused(port, 8, kWindows - 1, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kPfcDeadlock);
  EXPECT_THAT(found[0].loop, testing::UnorderedElementsAreArray(loop));
  // Each is held by the node that has the next one.
  for (size_t i = 0; i < found[0].loop.size(); ++i) {
    const topology::PortIndex next = found[0].loop[(i + 1) % found[0].loop.size()];
    EXPECT_EQ(fabric_.PeerNode(found[0].loop[i]), fabric_.port(next).node);
  }
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(8));
  EXPECT_FALSE(found[0].until);
}

// Cached counters are older than their reading by varying times.
TEST_F(PauseTest, InterpolatedCountersShowADeadlockWithLess) {
  SetReadingDelay(kWindow / 4);
  IsPaused(Port("leaf0", "spine0"), 8, kWindows - 1, 0.9);
  IsPaused(Port("spine0", "leaf1"), 8, kWindows - 1, 1);
  IsPaused(Port("leaf1", "spine1"), 8, kWindows - 1, 0.95);
  IsPaused(Port("spine1", "leaf0"), 8, kWindows - 1, 0.9);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kPfcDeadlock);
}

// One port is read from a cache once: its counter seems not to grow.
TEST_F(PauseTest, ACachedReadingDoesNotHideADeadlock) {
  SetReadingDelay(kWindow / 4);
  IsPaused(Port("leaf0", "spine0"), 8, kWindows - 1, 1);
  IsPaused(Port("spine0", "leaf1"), 8, kWindows - 1, 1);
  IsPaused(Port("leaf1", "spine1"), 8, kWindows - 1, 1);
  IsPaused(Port("spine1", "leaf0"), 8, 11, 1);
  IsPaused(Port("spine1", "leaf0"), 13, kWindows - 1, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u) << "from before the gap until after it";
  EXPECT_EQ(found[0].kind, FaultKind::kPfcDeadlock);
  EXPECT_LE(found[0].from, Begin(9));
  EXPECT_GE(found[0].until.value_or(End(kWindows)), End(kWindows - 2));
}

TEST_F(PauseTest, OneInterpolatedWindowIsNoDeadlock) {
  SetReadingDelay(kWindow / 4);
  IsDeadlocked(8, 9);
  EXPECT_TRUE(Found().empty());
}

// No way through a Clos strays; whose data do, and by a port of the loop, went up again there.
TEST_F(PauseTest, FlowsThatStrayIntoALoopAreItsCulprits) {
  IsDeadlocked(15);
  Strays({"leaf0", "spine0", "leaf1", "spine1"}, 1, 0, 19);
  Strays({"spine0", "leaf1", "spine1", "leaf0"}, 2, 0, 19);
  Strays({"host0", "leaf0", "spine1", "leaf2"}, 3, 0, 19);   // elsewhere
  Strays({"leaf0", "spine1", "leaf1", "spine0"}, 4, 0, 19);  // the other way round: none
  Strays({"leaf0", "spine0", "leaf1", "spine1"}, 5, 0, 19);
  paths_.back().intervals[0].state = PathState::kSpread;  // over ports that a fabric may use
  Strays({"leaf0", "spine0", "leaf1", "spine1"}, 6, 0, 19);
  paths_.back().intervals[0].bytes = paths_.back().intervals[0].packets * 82;  // acknowledgements
  Strays({"host0", "leaf0"}, 7, 0, 19);  // nobody knows by which ports of switches
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].culprits, testing::ElementsAre(FlowOf(1), FlowOf(2), FlowOf(7)));
}

// They stand still while it lasts: they are seen before, at most ten windows.
// Of a flow with full packets only ACKs strayed there; of one with ACKs, what grants buffers.
TEST_F(PauseTest, WhatStrayedIntoTheLoopMustBeLongerThanAnAcknowledgement) {
  IsDeadlocked(8, kWindows - 1);
  for (const uint32_t qpn : {1u, 2u, 3u}) {
    Strays({"leaf0", "spine0", "leaf1", "spine1"}, qpn, 6, 19);
    for (PathShare& share : paths_.back().intervals[0].shares) {
      share.bytes = qpn == 1 ? 62 : qpn == 2 ? 138 : 0;  // the third one's bytes are unknown
    }
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprits, (std::vector<FlowKey>{FlowOf(2), FlowOf(3)}));
}

// The loop's first port is on the flow's own way: its data took it, and went astray nowhere.
TEST_F(PauseTest, DataOnItsWayUpIsNotAstray) {
  IsDeadlocked(8, kWindows - 1);
  Strays({"leaf0", "spine0", "leaf1", "spine1"}, 1, 6, 19);
  auto& shares = paths_.back().intervals[0].shares;
  shares[0].bytes = 4000;  // leaf0 > spine0
  shares[1].bytes = 4000;  // spine0 > leaf1, where its receiver is
  shares[2].bytes = 62;    // leaf1 > spine1: an ACK
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(Found()[0].culprits.empty());
}

TEST_F(PauseTest, FlowsThatStrayedLongBeforeTheLoopStoodDidNotFeedIt) {
  IsDeadlocked(15);
  Strays({"leaf0", "spine0", "leaf1", "spine1"}, 1, 0, 3);
  Strays({"leaf0", "spine0", "leaf1", "spine1"}, 2, 0, 6);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(15));
  EXPECT_THAT(found[0].culprits, testing::ElementsAre(FlowOf(2)));
}

TEST_F(PauseTest, FlowsThatStrayAfterwardsDidNotFeedTheLoop) {
  IsDeadlocked(8, 11);
  Strays({"leaf0", "spine0", "leaf1", "spine1"}, 1, 14, 19);
  Strays({"leaf0", "spine0", "leaf1", "spine1"}, 2, 11, 19);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].until, End(11));
  EXPECT_THAT(found[0].culprits, testing::ElementsAre(FlowOf(2)));
}

TEST_F(PauseTest, ADeadlockAfterAnotherIsAFindingOfItsOwn) {
  IsDeadlocked(2, 5);
  IsPaused(Port("leaf2", "spine0"), 12, 15, 1);
  IsPaused(Port("spine0", "leaf3"), 12, 15, 1);
  IsPaused(Port("leaf3", "spine1"), 12, 15, 1);
  IsPaused(Port("spine1", "leaf2"), 12, 15, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].from, Begin(2));
  EXPECT_EQ(found[0].until, End(5));
  EXPECT_EQ(found[1].from, Begin(12));
  EXPECT_EQ(found[1].until, End(15));
  EXPECT_NE(std::ranges::find(found[1].loop, Port("spine0", "leaf3")), found[1].loop.end());
}

// A third way round by the same switches is the same deadlock.
TEST_F(PauseTest, LoopsThatShareASwitchAreOneDeadlock) {
  IsDeadlocked(8);
  IsPaused(Port("leaf1", "spine0"), 10, 15, 1);
  IsPaused(Port("spine0", "leaf2"), 10, 15, 1);
  IsPaused(Port("leaf2", "spine1"), 10, 15, 1);
  IsPaused(Port("spine1", "leaf1"), 10, 15, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].loop.size(), 4u);
  EXPECT_FALSE(found[0].until);
}

// Those that only wait for it are not in the loop.
TEST_F(PauseTest, WhoWaitsForALoopIsNotInIt) {
  IsDeadlocked(8);
  IsPaused(Port("leaf2", "spine0"), 8, kWindows - 1, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].loop.size(), 4u);
  EXPECT_EQ(std::ranges::count(found[0].loop, Port("leaf2", "spine0")), 0);
}

TEST_F(PauseTest, AChainOfHeldPortsIsNoLoop) {
  IsPaused(Port("leaf0", "spine0"), 8, 14, 1);
  IsPaused(Port("spine0", "leaf1"), 8, 14, 1);
  IsPaused(Port("leaf1", "spine1"), 8, 14, 1);
  EXPECT_TRUE(Found().empty());
}

TEST_F(PauseTest, ALoopInWhichOnePortStillMovesIsNoDeadlock) {
  IsPaused(Port("leaf0", "spine0"), 8, 14, 1);
  IsPaused(Port("spine0", "leaf1"), 8, 14, 1);
  IsPaused(Port("leaf1", "spine1"), 8, 14, 1);
  IsPaused(Port("spine1", "leaf0"), 8, 14, 0.5);
  EXPECT_TRUE(Found().empty());
}

// Both ends of one link that hold each other are no loop: it takes three nodes.
TEST_F(PauseTest, TwoPortsThatHoldEachOtherAreNoLoop) {
  IsPaused(Port("leaf0", "spine0"), 8, 14, 1);
  IsPaused(Port("spine0", "leaf0"), 8, 14, 1);
  EXPECT_TRUE(Found().empty());
}

TEST_F(PauseTest, PausesThatTheSwitchDidNotReceiveAreSuspected) {
  for (size_t w = 8; w < 15; ++w) {
    Grows(Port("host1", "leaf0"), Metric::kPfcTxTime, w, static_cast<uint64_t>(kWindow.count()),
          kRoce);
  }
  for (size_t w = 0; w < kWindows; ++w) Grows(Port("leaf0", "host1"), Metric::kPfcRx, w, 0, kRoce);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].confidence, kContradicted);
  Grows(Port("leaf0", "host1"), Metric::kPfcRx, 10, 5, kRoce);
  EXPECT_GT(Found()[0].confidence, 0.9);
}

}  // namespace
}  // namespace rocescope
