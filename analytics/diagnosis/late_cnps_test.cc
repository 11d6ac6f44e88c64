// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"
#include "base/window_row.h"

namespace rocescope {
namespace {

class LateCnpsTest : public DiagnosisTest {
 protected:
  // Ten CNPs in the window, of which so many were late.
  void AreLate(const std::vector<std::string>& nodes, size_t window, uint32_t late) {
    Takes(Way(DelayKind::kCnp, nodes), window, window, {.count = 10, .late = late});
  }
  // INT saw CNPs in a queue of their own.
  void KeepsApart(std::string_view node) { Queues(node, 0, {{.queue = 6, .cnps = 9}}); }
  void PutsAmongData(std::string_view node, size_t first, size_t last) {
    for (size_t w = first; w <= last; ++w) {
      Queues(node, w, {{.queue = 3, .cnps = 9, .data = 500}});
    }
  }
  // Instead of what was said of the window before. Windows ascend.
  void Queues(std::string_view node, size_t window, std::vector<QueueCount> queues) {
    EntryOf(queues_[Node(node)], NumberOf(window))->queues = std::move(queues);
  }
  Findings Found() { return DiagnosisTest::Found(DetectLateCnps); }
};

TEST_F(LateCnpsTest, NoSwitchIsToBlameWhereNoneIsLate) {
  AreLate({"leaf0", "spine0"}, 8, 0);
  KeepsApart("leaf0");
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateCnpsTest, ASwitchWhoseCnpsAreLateQueuesThemBehindData) {
  AreLate({"leaf0", "spine0"}, 6, 1);
  AreLate({"leaf0", "spine1"}, 7, 1);  // by way of another port
  AreLate({"leaf0", "spine0"}, 8, 0);
  AreLate({"leaf0", "spine0", "leaf2"}, 9, 1);
  AreLate({"leaf0", "spine0"}, 11, 1);
  AreLate({"leaf2", "spine0"}, 8, 2);  // too few
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kDeprioritisedCnps);
  EXPECT_EQ(found[0].place, Switch("leaf0"));
  EXPECT_EQ(found[0].from, Begin(6));
  EXPECT_EQ(found[0].detected_at, End(9)) << "the third one came then";
  EXPECT_EQ(found[0].until, End(11));
}

// What is queued, or held back, makes packets late and not only CNPs; a longer way makes
// even the quickest packet late.
TEST_F(LateCnpsTest, CnpsOnALongerPathAreNotLate) {
  for (size_t w = 6; w < 12; ++w) AreLate({"leaf0", "spine0"}, w, 5);
  ASSERT_EQ(Found().size(), 1u);
  const DelayKey way = Way(DelayKind::kTransit, {"leaf0", "spine0"});
  Takes(way, 0, kWindows - 1, {.least = 1000, .count = 10});
  ASSERT_EQ(Found().size(), 1u) << "packets take as long as before";
  Takes(way, 6, 12, {.least = 5000, .count = 10});
  EXPECT_TRUE(Found().empty());
}

// A mirror that loses copies makes one notification look like another.
TEST_F(LateCnpsTest, AsManyAsMirrorsLostSightOfMayBeOthers) {
  for (size_t w = 6; w < 12; ++w) AreLate({"leaf0", "spine0"}, w, 2);  // 12
  queues_[Node("leaf0")] = {{.window = NumberOf(3), .unmatched = 4},
                            {.window = NumberOf(4), .unmatched = 5}};
  EXPECT_EQ(Found().size(), 1u);
  queues_[Node("leaf0")][1].unmatched = 6;
  EXPECT_TRUE(Found().empty());
  queues_[Node("leaf0")][0].window = NumberOf(0) - 1;  // before anything that is looked at
  EXPECT_EQ(Found().size(), 1u);
}

// The queue of priority 6 has 74 bytes, or none, in windows with CNPs.
class CnpQueueTest : public LateCnpsTest {
 protected:
  CnpQueueTest() {
    for (const char* leaf : {"leaf0", "leaf1", "leaf2"}) {
      for (size_t w = 0; w < kWindows; ++w) Passes(leaf, w, 74);
    }
  }
  void Passes(const char* leaf, size_t window, uint64_t bytes) {
    AreLate({leaf, "spine0"}, window, 0);
    Says(Port(leaf, "spine1"), Metric::kQueueWatermark, window, bytes, 6);
    Says(Port(leaf, "spine1"), Metric::kQueueWatermark, window, 50'000, kRoce);
  }
};

TEST_F(CnpQueueTest, AQueueThatIsUsedAllAlongIsWell) { EXPECT_TRUE(Found().empty()); }

// None of 40 windows of others and 8 earlier ones of its own was empty: the chance is 0.5 of 49.
// Twice in a row is 1.04 in ten thousand, just too many for a finding; three times is enough.
TEST_F(CnpQueueTest, WhereTheQueueStaysEmptyWhileCnpsPassTheyAreInAnother) {
  for (size_t w = 8; w < 14; ++w) Passes("leaf1", w, 0);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kDeprioritisedCnps);
  EXPECT_EQ(found[0].place, Switch("leaf1"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(10));
  EXPECT_EQ(found[0].until, End(13));
}

// One window more before: half a one of 50, and twice in a row is one in ten thousand.
TEST_F(CnpQueueTest, TwoEmptyWindowsSufficeIfFortyNineWereNot) {
  for (size_t w = 9; w < 14; ++w) Passes("leaf1", w, 0);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(9));
  EXPECT_EQ(found[0].detected_at, End(10));
}

TEST_F(CnpQueueTest, OneEmptyWindowIsChance) {
  Passes("leaf1", 8, 0);
  EXPECT_TRUE(Found().empty());
}

TEST_F(CnpQueueTest, WhereNoCnpsPassTheQueueMayBeEmpty) {
  for (size_t w = 8; w < 14; ++w) {
    Takes(Way(DelayKind::kCnp, {"leaf1", "spine0"}), w, w, {});
    Says(Port("leaf1", "spine1"), Metric::kQueueWatermark, w, 0, 6);
  }
  EXPECT_TRUE(Found().empty());
}

// A switch that stops reporting its queues has no empty queues.
TEST_F(CnpQueueTest, AQueueThatNobodyReadIsNotEmpty) {
  FallsSilent(EntityOf(Port("leaf1", "spine1"), 6), 8);
  EXPECT_TRUE(Found().empty());
}

// Other traffic uses the priority, with and without CNPs.
TEST_F(CnpQueueTest, APriorityThatOthersUseTooIsNotThatOfCnps) {
  for (size_t w = 8; w < 14; ++w) Passes("leaf1", w, 0);
  EXPECT_EQ(Found().size(), 1u);
  for (size_t w = 0; w < kWindows; ++w) {
    Says(Port("leaf3", "spine1"), Metric::kQueueWatermark, w, 74, 6);
  }
  for (size_t w = 0; w < kWindows; w += 4) {
    for (const char* leaf : {"leaf0", "leaf2"}) {
      Takes(Way(DelayKind::kCnp, {leaf, "spine0"}), w, w, {});
    }
  }
  EXPECT_TRUE(Found().empty());
}

// Background traffic fills the priority with few packets at most times, and with many at others.
TEST_F(CnpQueueTest, APriorityThatIsSometimesLongIsNotThatOfCnps) {
  for (size_t w = 8; w < 14; ++w) Passes("leaf1", w, 0);
  EXPECT_EQ(Found().size(), 1u);
  for (size_t w = 0; w < kWindows; w += 4) {
    Passes("leaf0", w, 5'000);
    Passes("leaf2", w + 1, 5'000);
  }
  EXPECT_TRUE(Found().empty());
}

// A queue of CNPs is short.
TEST_F(CnpQueueTest, ALongQueueIsNotThatOfCnps) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2"}) {
    for (size_t w = 0; w < kWindows; ++w) Passes(leaf, w, 5'000);
  }
  for (size_t w = 8; w < 14; ++w) Passes("leaf1", w, 0);
  EXPECT_TRUE(Found().empty());
}

// Nobody has a class for them.
TEST_F(CnpQueueTest, AQueueThatIsEmptyEverywhereIsNotThatOfCnps) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2"}) {
    for (size_t w = 0; w < kWindows; ++w) Passes(leaf, w, 0);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateCnpsTest, TwoAreTooFew) {
  AreLate({"leaf0", "spine0"}, 8, 2);
  EXPECT_TRUE(Found().empty());
}

// Over three links and more it may have waited at any switch.
TEST_F(LateCnpsTest, FarAwayNobodyKnowsWhereTheyWaited) {
  DelayKey key = Way(DelayKind::kCnp, {"leaf0", "spine0"});
  key.hops = 3;
  Takes(key, 8, 12, {.count = 10, .late = 5});
  EXPECT_TRUE(Found().empty());
}

// Those have to wait for each other.
TEST_F(LateCnpsTest, LateDataAreNoLateCnps) {
  Takes(Way(DelayKind::kTransit, {"leaf0", "spine0"}), 0, kWindows - 1,
        {.least = 1000, .count = 10, .late = 10});
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateCnpsTest, ASwitchThatPutsThemAmongDataUnlikeOthersIsSeenByInt) {
  KeepsApart("leaf1");
  PutsAmongData("leaf0", 7, 12);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kDeprioritisedCnps);
  EXPECT_EQ(found[0].place, Switch("leaf0"));
  EXPECT_EQ(found[0].from, Begin(7));
  EXPECT_EQ(found[0].detected_at, End(7));
  EXPECT_EQ(found[0].until, End(12));
}

TEST_F(LateCnpsTest, WhereAllPutThemAmongDataThatIsHowTheFabricIsMeant) {
  for (const char* node : {"leaf0", "leaf1", "spine0"}) PutsAmongData(node, 0, kWindows - 1);
  EXPECT_TRUE(Found().empty());
}

// One that never had a notification keeps nothing apart.
TEST_F(LateCnpsTest, ASwitchWithoutCnpsIsNoExampleForOthers) {
  PutsAmongData("leaf0", 7, 12);
  Queues("leaf1", 0, {{.queue = 3, .data = 500}});
  EXPECT_TRUE(Found().empty());
}

// A host that sends a few of its packets with the CNPs' DSCP.
TEST_F(LateCnpsTest, AFewPacketsOfDataInTheQueueOfCnpsDoNotMakeItOneOfData) {
  KeepsApart("leaf1");
  for (size_t w = 7; w <= 12; ++w) {
    Queues("leaf0", w, {{.queue = 3, .data = 500}, {.queue = 6, .cnps = 9, .data = 10}});
  }
  EXPECT_TRUE(Found().empty());
}

// One of the hosts sends its CNPs with the DSCP of data.
TEST_F(LateCnpsTest, ASwitchThatKeepsMostOfThemApartPutsNoneAmongData) {
  KeepsApart("leaf1");
  for (size_t w = 7; w <= 12; ++w) {
    Queues("leaf0", w, {{.queue = 3, .cnps = 2, .data = 500}, {.queue = 6, .cnps = 7}});
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateCnpsTest, OneAmongDataIsAnAccidentAndTheSecondIsTheDetection) {
  KeepsApart("leaf1");
  Queues("leaf0", 7, {{.queue = 3, .cnps = 1, .data = 500}});
  EXPECT_TRUE(Found().empty());
  Queues("leaf0", 9, {{.queue = 3, .cnps = 1, .data = 500}});
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(7));
  EXPECT_EQ(found[0].detected_at, End(9));
  EXPECT_TRUE(found[0].is_by_int);
  EXPECT_NEAR(found[0].confidence, 0.98 * 3 / 4, 1e-6) << "two are few yet";
}

TEST_F(LateCnpsTest, IntGivesMoreConfidenceThanDelays) {
  AreLate({"leaf0", "spine0"}, 8, 3);
  KeepsApart("leaf1");
  const Findings by_times = Found();
  ASSERT_EQ(by_times.size(), 1u);
  PutsAmongData("leaf0", 9, 12);
  const Findings by_both = Found();
  ASSERT_EQ(by_both.size(), 1u);
  EXPECT_GT(by_both[0].confidence, by_times[0].confidence);
  EXPECT_FALSE(by_both[0].is_by_int);
  EXPECT_EQ(by_both[0].from, Begin(8)) << "the first sign was a late one";
  EXPECT_EQ(by_both[0].evidence.size(), 2u);
}

}  // namespace
}  // namespace rocescope
