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

TEST(TapView, EachCompleteGroupIsOneObservation) {
  EXPECT_THAT(MostObservations({Row(4, {0}), Row(4, {1}), Row(4, {2, 3}), Row(4, {2, 3})}, 4),
              ElementsAre(3, 3, 3, 3));
}

TEST(TapView, TwoRequestersOfOneResponderShowAPartialView) {
  EXPECT_THAT(MostObservations({Row(4, {0}), Row(4, {1}), Row(4, {2, 3})}, 4),
              ElementsAre(1, 1, 1));
}

TEST(TapView, AnUnansweredRequesterShowsAPartialView) {
  EXPECT_THAT(MostObservations({Row(3, {0}), Row(3, {1})}, 3), ElementsAre(1, 1));
}

TEST(TapView, OneOfManyGroupsMayLookPartial) {
  std::vector<MatchRow> rows;
  for (uint32_t i = 0; i < 9; ++i) rows.push_back(Row(10, {i}));
  EXPECT_EQ(MostObservations(rows, 10)[0], 6) << "nine complete groups minus three";
}

TEST(TapView, TapsAreEvaluatedSeparately) {
  MatchRow elsewhere = Row(1, {1});
  elsewhere.tap = 7;
  EXPECT_THAT(MostObservations({Row(2, {0}), Row(2, {2}), elsewhere}, 3), ElementsAre(2, 2, 1));
}

}  // namespace
}  // namespace rocescope
