// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using ::testing::SizeIs;

PartnerClaim Hits(uint32_t partner, uint32_t hits, uint32_t trials) {
  return {.partner = partner, .hits = hits, .trials = trials};
}

TEST(OddsAgainst, EqualRatesAreIndistinguishable) {
  EXPECT_DOUBLE_EQ(OddsAgainst(7, 10, 7, 10), 1);
  EXPECT_DOUBLE_EQ(OddsAgainst(0, 0, 5, 5), 1);
}

TEST(OddsAgainst, ReversingTheRolesInvertsTheOdds) {
  EXPECT_NEAR(OddsAgainst(9, 10, 2, 10) * OddsAgainst(2, 10, 9, 10), 1, 1e-9);
}

TEST(OddsAgainst, ASmallDifferenceAmongManyStaysUncertain) {
  // Two standard deviations of the difference between two rates of 0.7 in 1000 trials: 41.
  EXPECT_GT(OddsAgainst(720, 1000, 680, 1000), 0.5);
}

TEST(MatchFlows, EliminationLeavesTheLastPair) {
  // Flow 1 hits both partners equally; flow 0 hits only partner 0.
  const std::vector<MatchRow> side0 = {
      {.trials = 20, .visible = 2, .claims = {Hits(0, 20, 20)}},
      {.trials = 20, .visible = 2, .claims = {Hits(0, 20, 20), Hits(1, 20, 20)}}};
  const Matching matching = MatchFlows(side0, std::vector<MatchRow>(2));

  EXPECT_EQ(matching.sides[0][0].partner, 0u);
  EXPECT_EQ(matching.sides[0][1].partner, 1u);
  EXPECT_LT(matching.sides[0][1].confidence, 0.9) << "it depends on the other pair being right";
}

TEST(MatchFlows, TwoRowsThatClaimOnePartnerBothStayUnpaired) {
  const std::vector<MatchRow> side0 = {{.trials = 20, .visible = 2, .claims = {Hits(0, 20, 20)}},
                                       {.trials = 20, .visible = 2, .claims = {Hits(0, 20, 20)}}};
  const Matching matching = MatchFlows(side0, std::vector<MatchRow>(2));

  EXPECT_EQ(matching.sides[0][0].partner, UINT32_MAX);
  EXPECT_EQ(matching.sides[0][1].partner, UINT32_MAX);
  ASSERT_THAT(matching.sides[1][0].candidates, SizeIs(2));
}

TEST(MatchFlows, RareAccidentalHitsAreNotAPartner) {
  const std::vector<MatchRow> side0 = {
      {.trials = 1'000'000, .visible = 1, .claims = {Hits(0, 10, 1'000'000)}}};
  const Matching matching = MatchFlows(side0, std::vector<MatchRow>(1));

  EXPECT_EQ(matching.sides[0][0].partner, UINT32_MAX);
}

TEST(MatchFlows, UnobservedFlowsLimitConfidence) {
  // All responses hit the only visible partner, but two others pass elsewhere and may be in lock
  // step.
  const std::vector<MatchRow> side0 = {
      {.trials = 50, .visible = 1, .suspects = 2, .claims = {Hits(0, 50, 50)}}};
  const Matching matching = MatchFlows(side0, std::vector<MatchRow>(3));

  EXPECT_LT(matching.sides[0][0].confidence, 0.9);
}

}  // namespace
}  // namespace rocescope
