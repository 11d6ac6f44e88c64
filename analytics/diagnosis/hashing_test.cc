// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

// Flows from leaf0's hosts to those of leaf1 and leaf2: two paths and four flows for each pair.
class HashingTest : public DiagnosisTest {
 protected:
  static constexpr uint32_t kFlows = 4;

  // `way_of` says by which spine flow number n of pair number p goes.
  template <typename PathOf>
  void Spread(size_t pairs, PathOf way_of, size_t first = 0) {
    for (size_t p = 0; p < pairs; ++p) {
      const std::string from = "host" + std::to_string(p % 4);
      const std::string to = "host" + std::to_string(4 + p / 4);
      const std::string leaf = "leaf" + std::to_string((4 + p / 4) / 4);
      for (uint32_t n = 0; n < kFlows; ++n) {
        Goes({from, "leaf0", "spine" + std::to_string(way_of(p, n) % 2), leaf, to}, 100 + n, first);
      }
    }
  }
  Findings Found() { return DiagnosisTest::Found(DetectHashing); }
};

// The chance is 2^-3 for each of eight pairs: one in sixteen million.
TEST_F(HashingTest, PairsThatHaveAllTheirFlowsOnOneLinkArePolarised) {
  Spread(8, [](size_t pair, uint32_t) { return pair; });
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kPolarisation);
  EXPECT_EQ(found[0].place, Switch("leaf0"));
  EXPECT_EQ(found[0].from, Begin(0));
}

// Traffic is moved away from spine1 in window 8, and comes to spine0 where the other flows are.
// Half of the flows, those by spine1, are blocked from window 9 on.
TEST_F(HashingTest, FlowsThatAreBlockedHaveNotChangedTheirPaths) {
  Spread(8, [](size_t, uint32_t flow) { return flow; });
  for (FlowPath& path : paths_) {
    if (path.intervals[0].certain[1] == Port("leaf0", "spine1")) {
      path.intervals[0].until = End(9) - Duration(1);
    }
  }
  EXPECT_TRUE(Found().empty());
}

// Ten pairs of flows share their links by chance with a probability of 2^-10, which is no evidence
// without the moves.
TEST_F(HashingTest, FlowsThatMoveBecauseALinkComesUpAgainAreNoEvidence) {
  for (uint32_t p = 0; p < 10; ++p) {
    const std::string from = "host" + std::to_string(p % 4);
    const std::string to = "host" + std::to_string(4 + p / 4);
    const std::string leaf = "leaf" + std::to_string((4 + p / 4) / 4);
    for (uint32_t n = 0; n < 2; ++n) {
      Goes({from, "leaf0", "spine" + std::to_string(p % 2), leaf, to}, 100 + n, 10);
    }
    paths_.back().intervals[0].began = PathChange::kRerouted;
  }
  EXPECT_EQ(Found().size(), 1u) << "three moves without a reason";
  for (size_t w = 4; w <= 9; ++w) Says(Port("leaf3", "spine0"), Metric::kLinkUp, w, 0);
  EXPECT_TRUE(Found().empty());
}

TEST_F(HashingTest, ADrainedLinkIsNoChoice) {
  for (size_t w = 0; w < kWindows; ++w) {
    for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
      Carries(Port(leaf, "spine0"), w, 1000);
      Carries(Port("spine0", leaf), w, 1000);
    }
  }
  Spread(8, [](size_t, uint32_t) { return 0; }, 8);
  EXPECT_TRUE(Found().empty());
  Carries(Port("spine1", "leaf3"), 12, 1000);
  EXPECT_TRUE(Found().empty()) << "a link of another leaf";
  for (size_t w = 12; w < kWindows; ++w) Carries(Port("spine1", "leaf0"), w, 1000);
  EXPECT_EQ(Found().size(), 1u);
}

// Traffic is moved away from spine1 in window 6. Its counters show this two windows later.
TEST_F(HashingTest, ADrainedSwitchIsNoChoice) {
  const auto carry = [&](const std::string& spine, size_t first, size_t last) {
    for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
      for (size_t w = first; w <= last; ++w) {
        Carries(Port(leaf, spine), w, 1000);
        Carries(Port(spine, leaf), w, 1000);
      }
    }
  };
  carry("spine0", 0, kWindows - 1);
  carry("spine1", 0, 7);
  Spread(8, [](size_t, uint32_t flow) { return flow; });
  for (FlowPath& path : paths_) {
    path.intervals[0].until = End(8) - Duration(1);
    if (path.intervals[0].certain[1] == Port("leaf0", "spine0")) continue;
    path.intervals[0].until = End(5) - Duration(1);
    const std::string leaf =
        path.intervals[0].certain[2] == Port("spine1", "leaf1") ? "leaf1" : "leaf2";
    PathInterval moved = PathVia({"host0", "leaf0", "spine0", leaf, "host4"}, 1, 6, 8).intervals[0];
    moved.path.ports[0] = path.intervals[0].path.ports[0];
    moved.path.ports[3] = path.intervals[0].path.ports[3];
    path.intervals.push_back(moved);
  }
  EXPECT_TRUE(Found().empty());
  carry("spine1", 8, kWindows - 1);
  EXPECT_EQ(Found().size(), 1u) << "spine1 is not drained";
}

TEST_F(HashingTest, IsThereFromTheTimeThatFlowsGoSo) {
  Spread(8, [](size_t pair, uint32_t) { return pair; }, 9);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(9));
  EXPECT_EQ(found[0].detected_at, End(9));
}

// Each window is judged by the flows that are there in it.
TEST_F(HashingTest, IsOverWhenTheFlowsThatGoSoAre) {
  Spread(8, [](size_t pair, uint32_t) { return pair; }, 3);
  for (FlowPath& path : paths_) path.intervals[0].until = End(11) - Duration(1);
  const std::vector<FlowPath> polarised = std::move(paths_);
  paths_.clear();
  Spread(8, [](size_t, uint32_t flow) { return flow; }, 12);
  paths_.insert(paths_.end(), polarised.begin(), polarised.end());
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(3));
  EXPECT_EQ(found[0].until, End(11));
}

TEST_F(HashingTest, FlowsThatSpreadAreAllRight) {
  Spread(8, [](size_t, uint32_t flow) { return flow; });
  EXPECT_TRUE(Found().empty());
}

TEST_F(HashingTest, APairThatSharesALinkByChanceIsNoPolarisation) {
  Spread(8, [](size_t pair, uint32_t flow) { return pair == 3 ? 0 : flow; });
  EXPECT_TRUE(Found().empty());
}

TEST_F(HashingTest, FourPairsAreTooFewToTell) {
  Spread(4, [](size_t pair, uint32_t) { return pair; });
  EXPECT_TRUE(Found().empty());
}

// To leaf1 and leaf2 there is one way left, of which only their own switches know.
TEST_F(HashingTest, WhereLinksFailedThereWasNoChoice) {
  Spread(8, [](size_t, uint32_t) { return 0; }, 9);
  ASSERT_EQ(Found().size(), 1u);
  for (size_t w = 8; w < kWindows; ++w) {
    Says(Port("leaf1", "spine1"), Metric::kLinkUp, w, 0);
    Says(Port("leaf2", "spine1"), Metric::kLinkUp, w, 0);
  }
  EXPECT_TRUE(Found().empty());
}

// Nobody knows what is behind them.
TEST_F(HashingTest, CablesThatAreNotWhereTheyShouldBeAreNoChoice) {
  Spread(8, [](size_t, uint32_t) { return 0; });
  cabling_.findings.push_back(
      {.kind = CableFindingKind::kSwapped,
       .declared = {Link("leaf1", "spine1").index, Link("leaf2", "spine1").index}});
  EXPECT_TRUE(Found().empty());
}

TEST_F(HashingTest, ASwitchWithoutAChoiceCannotPolarise) {
  for (uint32_t n = 0; n < 40; ++n) Goes({"host0", "leaf0", "host1"}, 100 + n);
  EXPECT_TRUE(Found().empty());
}

class WideHashingTest : public DiagnosisTest {
 protected:
  WideHashingTest() : DiagnosisTest(4) {}
};

// Eight pairs of one flow each by one of four spines, until a link is down from window 10 to 12:
// from then on they spread, and had three ways while it was.
TEST_F(WideHashingTest, EndsWhereFlowsSpreadThoughALinkFailsMeanwhile) {
  for (size_t w = 10; w < 13; ++w) Says(Port("leaf1", "spine3"), Metric::kLinkUp, w, 0);
  for (int pair = 0; pair < 8; ++pair) {
    const std::string from = "host" + std::to_string(pair % 4);
    const std::string to = "host" + std::to_string(4 + pair / 2);
    for (uint32_t n = 0; n < 4; ++n) {
      const auto spine = [](uint32_t number) { return "spine" + std::to_string(number % 3); };
      Goes({from, "leaf0", spine(static_cast<uint32_t>(pair)), "leaf1", to}, 100 + n, 0, 8);
      Goes({from, "leaf0", spine(n), "leaf1", to}, 200 + n, 9, 15);
      Goes({from, "leaf0", spine(n), "leaf1", to}, 300 + n, 15, kWindows - 1);
    }
  }
  const Findings found = DiagnosisTest::Found(DetectHashing);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(0));
  EXPECT_EQ(found[0].until, End(8));
}

}  // namespace
}  // namespace rocescope
