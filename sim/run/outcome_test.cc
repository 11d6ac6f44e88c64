// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/outcome.h"

#include <gtest/gtest.h>

namespace rocescope::sim {
namespace {

std::string Text(FaultKind kind, uint64_t affected, Model model) {
  return AffectedText({.options = {.kind = kind}, .affected = affected}, model);
}

TEST(AffectedTextTest, HasTheMeasureOfTheKind) {
  EXPECT_EQ(Text(FaultKind::kGrayLoss, 0, Model::kPacket), "0 frames affected");
  EXPECT_EQ(Text(FaultKind::kGrayLoss, 25, Model::kFlow), "25 frames affected");
  EXPECT_EQ(Text(FaultKind::kStraggler, 3, Model::kPacket), "3 slow computations");
  EXPECT_EQ(Text(FaultKind::kMisconfiguredAlpha, 3, Model::kPacket), "3 early pauses");
}

TEST(AffectedTextTest, IsEmptyForKindsThatCountNothing) {
  EXPECT_EQ(Text(FaultKind::kLinkDown, 0, Model::kPacket), "");
  EXPECT_EQ(Text(FaultKind::kPfcStorm, 0, Model::kPacket), "");
  EXPECT_EQ(Text(FaultKind::kStraggler, 0, Model::kFlow), "");
  EXPECT_EQ(Text(FaultKind::kDegradedRate, 0, Model::kFlow), "");
  EXPECT_EQ(Text(FaultKind::kLinkDown, 7, Model::kFlow), "7 frames affected");
}

}  // namespace
}  // namespace rocescope::sim
