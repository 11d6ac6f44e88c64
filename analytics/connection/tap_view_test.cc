// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/tap_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using ::testing::ElementsAre;

// Ten responses, all of which hit each of the partners.
MatchRow Row(uint32_t visible, std::vector<uint32_t> partners) {
  MatchRow row{.trials = 10, .visible = visible, .zero_based = true};
  for (const uint32_t partner : partners) {
    row.claims.push_back({.partner = partner, .hits = 10, .trials = 10});
  }
  return row;
}

TEST(TapView, ALonePairIsOneObservation) {
  EXPECT_THAT(MostObservations({Row(1, {0})}, 1), ElementsAre(1));
}

TEST(TapView, EachWholeGroupIsOneObservation) {
  EXPECT_THAT(MostObservations({Row(4, {0}), Row(4, {1}), Row(4, {2, 3}), Row(4, {2, 3})}, 4),
              ElementsAre(3, 3, 3, 3));
}

TEST(TapView, TwoRequestersThatOneResponderAnswersShowThatTheTapSeesParts) {
  EXPECT_THAT(MostObservations({Row(4, {0}), Row(4, {1}), Row(4, {2, 3})}, 4),
              ElementsAre(1, 1, 1));
}

TEST(TapView, ARequesterThatNobodyAnswersShowsThatTheTapSeesParts) {
  EXPECT_THAT(MostObservations({Row(3, {0}), Row(3, {1})}, 3), ElementsAre(1, 1));
}

TEST(TapView, OfManyGroupsOneMayLookPartial) {
  std::vector<MatchRow> rows;
  for (uint32_t i = 0; i < 9; ++i) rows.push_back(Row(10, {i}));
  EXPECT_EQ(MostObservations(rows, 10)[0], 6) << "nine whole ones less three";
}

TEST(TapView, TapsAreJudgedApart) {
  MatchRow elsewhere = Row(1, {1});
  elsewhere.tap = 7;
  EXPECT_THAT(MostObservations({Row(2, {0}), Row(2, {2}), elsewhere}, 3), ElementsAre(2, 2, 1));
}

}  // namespace
}  // namespace rocescope
