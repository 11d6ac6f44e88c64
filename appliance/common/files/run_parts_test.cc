// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/run_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::HasSubstr;

TEST(RunParts, OnlyWhatIsNamedIsLookedAt) {
  const auto parts = ParseRunParts("leaf-mirror,sflow");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(parts->mirror, MirrorSessions::kLeafPorts);
  EXPECT_TRUE(parts->sflow);
  EXPECT_FALSE(parts->int_reports || parts->counters || parts->nccl_logs || parts->rdma ||
               parts->slurm);
}

TEST(RunParts, WithoutAMirrorThereIsNone) {
  EXPECT_EQ(ParseRunParts("int,rdma")->mirror, MirrorSessions::kNone);
}

TEST(RunParts, CountersOfSwitchesAreAPartOfTheirOwn) {
  const auto parts = ParseRunParts("sflow,switch-counters");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_TRUE(parts->switch_counters);
  EXPECT_FALSE(parts->counters);
}

TEST(RunParts, AnUnknownWordIsNamedWithItsNeighbour) {
  const auto parts = ParseRunParts("int,sflw");
  ASSERT_FALSE(parts);
  EXPECT_THAT(parts.error().message, HasSubstr("\"sflw\" is no part of a run; did you mean"));
  EXPECT_THAT(parts.error().message, HasSubstr("leaf-mirror, port-sets, int"));
}

TEST(RunParts, NothingBetweenCommasIsAnError) {
  EXPECT_FALSE(ParseRunParts(""));
  EXPECT_FALSE(ParseRunParts("int,"));
}

TEST(RunParts, TwoChoicesOfMirroredFramesAreOneTooMany) {
  const auto parts = ParseRunParts("leaf-mirror,port-sets");
  ASSERT_FALSE(parts);
  EXPECT_THAT(parts.error().message, HasSubstr("another choice"));
}

}  // namespace
}  // namespace rocescope
