// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/place.h"

#include <gtest/gtest.h>

#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

v1::TruthFault At(const std::string& place, const std::string& direction = "") {
  v1::TruthFault fault;
  fault.set_place(place);
  fault.set_direction(direction);
  return fault;
}

TEST(Place, ALinkIsItsTwoPortsWhicheverStandsFirst) {
  EXPECT_TRUE(IsSameLink("leaf0:E1-spine0:E2", "spine0:E2-leaf0:E1"));
  EXPECT_FALSE(IsSameLink("leaf0:E1-spine0:E2", "spine0:E1-leaf0:E2"));
  EXPECT_FALSE(IsSameLink("leaf0:E1-spine0:E2", "leaf0:E1"));
}

TEST(Place, NamesOfNodesMayHaveHyphens) {
  EXPECT_TRUE(IsSameLink("gpu-1:mlx5_0-leaf-2:E1", "leaf-2:E1-gpu-1:mlx5_0"));
  EXPECT_FALSE(IsSameLink("leaf-2", "2-leaf"));  // a switch, and another one
}

TEST(Place, AnElementIsThereByItsName) {
  EXPECT_TRUE(IsRightPlace(At("leaf2"), "leaf2", ""));
  EXPECT_FALSE(IsRightPlace(At("leaf2"), "leaf20", ""));
  EXPECT_TRUE(IsRightPlace(At("host1:gpu:3"), "host1:gpu:3", ""));
  EXPECT_FALSE(IsRightPlace(At("host1:mlx5_0"), "host1:mlx5_1", ""));
}

TEST(Place, OfAOneWayFaultTheOtherDirectionIsWrong) {
  const v1::TruthFault fault = At("host7:mlx5_3-leaf3:E12", "leaf3:E12");
  EXPECT_TRUE(IsRightPlace(fault, "host7:mlx5_3-leaf3:E12", "leaf3:E12"));
  EXPECT_TRUE(IsRightPlace(fault, "host7:mlx5_3-leaf3:E12", ""));
  EXPECT_FALSE(IsRightPlace(fault, "host7:mlx5_3-leaf3:E12", "host7:mlx5_3"));
  EXPECT_TRUE(IsRightPlace(At("host7:mlx5_3-leaf3:E12"), "host7:mlx5_3-leaf3:E12", "leaf3:E12"));
}

TEST(Place, ADeadlockIsAtAnyLinkThatItsLoopSendsInto) {
  v1::TruthFault fault = At("leaf2:E5-spine0:E3");
  fault.add_loop_ports("leaf2:E5");
  fault.add_loop_ports("spine0:E1");
  EXPECT_TRUE(IsRightPlace(fault, "leaf0:E4-spine0:E1", ""));
  EXPECT_TRUE(IsRightPlace(fault, "spine0:E3-leaf2:E5", ""));
  EXPECT_FALSE(IsRightPlace(fault, "leaf0:E4-spine0:E10", ""));
}

TEST(Place, SwappedCablesAreAtEitherOfTheTwo) {
  v1::TruthFault fault = At("leaf24:E8-spine27:E1");
  fault.add_declared_links("leaf24:E8-spine27:E1");
  fault.add_declared_links("leaf25:E5-spine24:E2");
  EXPECT_TRUE(IsRightPlace(fault, "spine24:E2-leaf25:E5", ""));
  EXPECT_FALSE(IsRightPlace(fault, "leaf24:E8-spine24:E2", ""));  // the actual connections
}

TEST(Place, ALinkTouchesItsEnds) {
  EXPECT_TRUE(Touches("host0:mlx5_0-leaf0:E1", "leaf0"));
  EXPECT_TRUE(Touches("host0:mlx5_0-leaf0:E1", "host0:mlx5_0"));
  EXPECT_FALSE(Touches("host0:mlx5_0-leaf0:E1", "host0:mlx5_1"));
  EXPECT_FALSE(Touches("host0:mlx5_0-leaf0:E1", "leaf"));
}

TEST(Place, ClosenessIsByName) {
  EXPECT_EQ(ClosenessOf("leaf0:E1-spine0:E2", "spine0:E2-leaf0:E1"), Closeness::kSame);
  EXPECT_EQ(ClosenessOf("leaf0:E1-spine0:E2", "spine0"), Closeness::kTouching);
  EXPECT_EQ(ClosenessOf("host1:mlx5_0", "leaf0:E1-host1:mlx5_0"), Closeness::kTouching);
  EXPECT_EQ(ClosenessOf("host1", "host1:gpu:3"), Closeness::kTouching);
  EXPECT_EQ(ClosenessOf("leaf0:E1-spine0:E2", "leaf0:E7-host1:mlx5_0"), Closeness::kSharedNode);
  EXPECT_EQ(ClosenessOf("host-1:mlx5_0", "leaf-2:E1-host-1:mlx5_1"), Closeness::kSharedNode);
  EXPECT_EQ(ClosenessOf("leaf0:E1-spine0:E2", "leaf1:E1-spine1:E2"), Closeness::kFar);
  EXPECT_EQ(ClosenessOf("leaf0", "leaf01"), Closeness::kFar);
  EXPECT_EQ(ClosenessOf("", "leaf0"), Closeness::kFar);
}

}  // namespace
}  // namespace rocescope
