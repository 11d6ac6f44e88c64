// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/run_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::HasSubstr;

TEST(RunParts, SelectsOnlyNamedParts) {
  const auto parts = ParseRunParts("leaf-mirror,sflow");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(parts->mirror, MirrorSessions::kLeafPorts);
  EXPECT_TRUE(parts->sflow);
  EXPECT_FALSE(parts->int_reports || parts->counters || parts->nccl_logs || parts->rdma ||
               parts->slurm);
}

TEST(RunParts, SelectsNoMirrorByDefault) {
  EXPECT_EQ(ParseRunParts("int,rdma")->mirror, MirrorSessions::kNone);
}

TEST(RunParts, SelectsSwitchCountersSeparately) {
  const auto parts = ParseRunParts("sflow,switch-counters");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_TRUE(parts->switch_counters);
  EXPECT_FALSE(parts->counters);
}

TEST(RunParts, UnknownWordSuggestsTheNearest) {
  const auto parts = ParseRunParts("int,sflw");
  ASSERT_FALSE(parts);
  EXPECT_THAT(parts.error().message, HasSubstr("unknown part of a run \"sflw\"; did you mean"));
  EXPECT_THAT(parts.error().message, HasSubstr("leaf-mirror, port-sets, int"));
}

TEST(RunParts, RejectsEmptyWords) {
  EXPECT_FALSE(ParseRunParts(""));
  EXPECT_FALSE(ParseRunParts("int,"));
}

TEST(RunParts, RejectsTwoMirrorSelections) {
  const auto parts = ParseRunParts("leaf-mirror,port-sets");
  ASSERT_FALSE(parts);
  EXPECT_THAT(parts.error().message, HasSubstr("conflicts with an earlier selection"));
}

}  // namespace
}  // namespace rocescope
