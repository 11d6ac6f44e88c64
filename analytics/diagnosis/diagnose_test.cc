// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/diagnose.h"

#include <gtest/gtest.h>

#include "analytics/diagnosis/scene_fixture.h"

namespace rocescope {
namespace {

using enum FindingKind;

class FoldSymptomsTest : public SceneTest {
 protected:
  static Finding Seen(FindingKind kind, const Place& place, size_t from, double confidence = 0.9) {
    return {.kind = kind,
            .place = place,
            .confidence = confidence,
            .from = Begin(from),
            .verdict = End(from)};
  }
  Findings Roots(Findings found) const { return FoldSymptoms(fabric_, std::move(found), kWindow); }
};

TEST_F(FoldSymptomsTest, NothingFoldsIntoNothing) { EXPECT_TRUE(Roots({}).empty()); }

TEST_F(FoldSymptomsTest, LinksThatGoDownWithTheirSwitchAreItsSymptoms) {
  const Findings roots =
      Roots({Seen(kLinkDown, Link("leaf0", "spine1"), 8), Seen(kSwitchCrash, Switch("spine1"), 8),
             Seen(kLinkDown, Link("leaf2", "spine1"), 9)});
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_EQ(roots[0].kind, kSwitchCrash);
  ASSERT_EQ(roots[0].symptoms.size(), 2u);
  EXPECT_EQ(roots[0].symptoms[0].place, Link("leaf0", "spine1"));
  EXPECT_EQ(roots[0].symptoms[1].place, Link("leaf2", "spine1"));
}

TEST_F(FoldSymptomsTest, ALinkElsewhereIsAFaultOfItsOwn) {
  const Findings roots =
      Roots({Seen(kSwitchCrash, Switch("spine1"), 8), Seen(kLinkDown, Link("leaf2", "spine0"), 9)});
  EXPECT_EQ(roots.size(), 2u);
}

TEST_F(FoldSymptomsTest, WhatBeganLongBeforeIsNoSymptom) {
  const Findings roots =
      Roots({Seen(kLinkDown, Link("leaf0", "spine1"), 2), Seen(kSwitchCrash, Switch("spine1"), 8)});
  EXPECT_EQ(roots.size(), 2u);
}

TEST_F(FoldSymptomsTest, WhatBeginsLongAfterItsEndIsNoSymptom) {
  Finding crash = Seen(kSwitchCrash, Switch("spine1"), 2);
  crash.until = End(3);
  EXPECT_EQ(Roots({crash, Seen(kLinkDown, Link("leaf0", "spine1"), 15)}).size(), 2u);
  EXPECT_EQ(Roots({crash, Seen(kLinkDown, Link("leaf0", "spine1"), 13)}).size(), 1u);
}

TEST_F(FoldSymptomsTest, ACauseMayBeASymptomInTurn) {
  const Findings roots =
      Roots({Seen(kSwitchCrash, Switch("spine1"), 8), Seen(kLinkDown, Link("leaf0", "spine1"), 8),
             Seen(kGrayLoss, Link("leaf0", "spine1"), 8)});
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_EQ(roots[0].kind, kSwitchCrash);
  EXPECT_EQ(roots[0].symptoms.size(), 2u);
}

// A storm's pauses reach the whole fabric.
TEST_F(FoldSymptomsTest, AStormMakesSwitchesAnywhereLookMisconfigured) {
  const Findings roots =
      Roots({Seen(kPfcStorm, Nic("host0"), 8), Seen(kMisconfiguredEcn, Switch("leaf3"), 9)});
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_EQ(roots[0].kind, kPfcStorm);
}

TEST_F(FoldSymptomsTest, WhoeverIsOnlyWaitedForFoldsUnderAnyOtherFault) {
  Finding waiting = Seen(kStraggler, Gpu("host5"), 8);
  waiting.basis = Basis::kWaiting;
  EXPECT_EQ(Roots({Seen(kDegradedRate, Link("host9", "leaf2"), 7), waiting}).size(), 1u);
  EXPECT_EQ(Roots({waiting}).size(), 1u);
  EXPECT_EQ(Roots({waiting})[0].kind, kStraggler);
  // Its clock says so itself.
  waiting.basis = Basis::kItself;
  EXPECT_EQ(Roots({Seen(kDegradedRate, Link("host9", "leaf2"), 7), waiting}).size(), 2u);
}

TEST_F(FoldSymptomsTest, RootsAreInOrderOfTime) {
  const Findings roots =
      Roots({Seen(kNicCrash, Nic("host9"), 12), Seen(kLinkDown, Link("leaf0", "spine1"), 3)});
  ASSERT_EQ(roots.size(), 2u);
  EXPECT_EQ(roots[0].from, Begin(3));
  EXPECT_EQ(roots[1].from, Begin(12));
}

using DiagnoseTest = SceneTest;

TEST_F(DiagnoseTest, AHealthyFabricHasNoFaults) {
  for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
    for (size_t w = 0; w < kWindows; ++w) Carries(port, w, 1000);
  }
  EXPECT_TRUE(In(Diagnose).empty());
}

}  // namespace
}  // namespace rocescope
