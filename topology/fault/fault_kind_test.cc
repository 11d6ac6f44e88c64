// SPDX-License-Identifier: BSD-3-Clause
#include "topology/fault/fault_kind.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

TEST(FaultKind, IsFoundByItsName) {
  EXPECT_EQ(FindFaultKind("gray_loss"), FaultKind::kGrayLoss);
  EXPECT_EQ(FindFaultKind("grey_loss"), std::nullopt);
  EXPECT_EQ(InfoOf(FaultKind::kStraggler).name, "straggler");
}

TEST(FaultKindSet, ContainsWhatWasAdded) {
  FaultKindSet kinds = {FaultKind::kLinkDown, FaultKind::kSwappedCables};
  EXPECT_TRUE(kinds.Contains(FaultKind::kLinkDown));
  EXPECT_TRUE(kinds.Contains(FaultKind::kSwappedCables));
  EXPECT_FALSE(kinds.Contains(FaultKind::kFlap));
  kinds.Add(FaultKind::kFlap);
  EXPECT_TRUE(kinds.Contains(FaultKind::kFlap));
  EXPECT_TRUE(FaultKindSet().empty());
}

// A kind that explained itself would fold into itself.
TEST(FaultKind, DoesNotExplainItself) {
  for (const FaultInfo& info : kFaultInfos) {
    const FaultKind kind = FindFaultKind(info.name).value();
    EXPECT_FALSE(info.explains_nearby.Contains(kind)) << info.name;
    EXPECT_FALSE(info.explains_anywhere.Contains(kind)) << info.name;
  }
}

// Reports join them: "Capitalised action." and "PLACE: sentence; since ...".
TEST(FaultKind, TextsHaveNoFullStop) {
  for (const FaultInfo& info : kFaultInfos) {
    for (const auto text : {info.sentence, info.action, info.plural}) {
      EXPECT_FALSE(text.ends_with('.')) << text;
    }
    EXPECT_GE(info.action.front(), 'a') << info.action;
    EXPECT_LE(info.action.front(), 'z') << info.action;
    EXPECT_GT(info.placement_cost, 0) << info.name;
    EXPECT_LE(info.placement_cost, 1) << info.name;
  }
}

}  // namespace
}  // namespace rocescope
