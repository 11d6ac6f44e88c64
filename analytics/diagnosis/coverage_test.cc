// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/scene_fixture.h"

namespace rocescope {
namespace {

using testing::Contains;
using testing::Not;
using enum FindingKind;

using DiagnosisCoverageTest = SceneTest;

TEST_F(DiagnosisCoverageTest, CountsWhoToldSomething) {
  const DiagnosisCoverage coverage = In(CoverageOf);
  EXPECT_EQ(coverage.windows, kWindows);
  EXPECT_EQ(coverage.window, kWindow);
  EXPECT_EQ(coverage.switches, 6u);
  EXPECT_EQ(coverage.nics, 16u);
  EXPECT_EQ(coverage.gpus, 0u);
  EXPECT_EQ(coverage.flows, 0u);
  EXPECT_EQ(coverage.switches_of, 6u);
  EXPECT_EQ(coverage.nics_of, 16u);
  EXPECT_TRUE(coverage.silences.empty());
}

TEST_F(DiagnosisCoverageTest, NamesThoseWhoWereSilentWhileOthersWereNot) {
  for (const char* peer : {"host0", "host1", "host2", "host3", "spine0", "spine1"}) {
    FallsSilent(EntityOf(Port("leaf0", peer)), 16);
  }
  SkipsReadings(OfNic(NicOf("host5")), 3, 5);
  SkipsReadings(EntityOf(Port("leaf1", "spine0")), 3, 5);  // one port of several
  const std::vector<Silence> expected = {{.node = Node("leaf0"), .windows = 4},
                                         {.node = Node("host5"), .windows = 3}};
  EXPECT_EQ(In(CoverageOf).silences, expected);
}

TEST_F(DiagnosisCoverageTest, KindsOfWhichNobodyTellsCouldNotHaveBeenFound) {
  const DiagnosisCoverage before = In(CoverageOf);
  EXPECT_THAT(before.not_seen, Not(Contains(kLinkDown)));
  EXPECT_THAT(before.not_seen, Not(Contains(kGrayLoss)));
  EXPECT_THAT(before.not_seen, Contains(kPfcStorm));
  EXPECT_THAT(before.not_seen, Contains(kStraggler));
  EXPECT_THAT(before.not_seen, Contains(kPolarisation));
  Grows(Port("leaf0", "host0"), Metric::kPfcRxTime, 3, 0, kRoce);
  Says(OfGpu(0), Metric::kGpuClock, 3, 1);
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 1);
  const DiagnosisCoverage after = In(CoverageOf);
  EXPECT_THAT(after.not_seen, Not(Contains(kPfcStorm)));
  EXPECT_THAT(after.not_seen, Not(Contains(kStraggler)));
  EXPECT_THAT(after.not_seen, Not(Contains(kPolarisation)));
  EXPECT_EQ(after.gpus, 1u);
  EXPECT_EQ(after.flows, 1u);
}

}  // namespace
}  // namespace rocescope
