// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/balance.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

constexpr size_t kPlaces = 10;
constexpr size_t kWindows = 20;

// At all places nothing is ever missing; at most ten frames are under way.
std::vector<Balance> Quiet() {
  return std::vector<Balance>(kPlaces, {.missing = std::vector<int64_t>(kWindows),
                                        .busy = std::vector<double>(kWindows, 0.1),
                                        .full = std::vector<int64_t>(kWindows, 10)});
}

void Misses(Balance& place, size_t first, size_t behind, int64_t frames) {
  for (size_t w = first; w < behind; ++w) place.missing[w] += frames;
}

// None of 200 readings had as many frames in flight. The chance of one is 1/201, and two in a
// row are beyond one in a hundred fabrics of 200 readings (201^2 > 200 * 100).
TEST(Balances, WhatStaysMissingIsLostAndTheSecondReadingSettlesIt) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 8, kWindows, 20);
  const Balances balances(places);
  const auto loss = balances.LossAt(0);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->frames, 20u);
  EXPECT_EQ(loss->first, 8u);
  EXPECT_EQ(loss->last, 8u);
  EXPECT_EQ(loss->detected_at, 9u);
  EXPECT_FALSE(balances.LossAt(1));
}

// Behind two frames there are always others under way, until the loss begins: two are under way
// elsewhere once in four readings.
TEST(Balances, WhatWasUnderWayBeforeTheLossIsNoSignOfIt) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 5, kWindows, 2);
  Misses(places[0], 8, kWindows, 18);
  for (size_t p = 1; p < kPlaces; ++p) {
    for (size_t w = 0; w < kWindows; w += 4) Misses(places[p], w, w + 1, 2);
  }
  const auto loss = Balances(places).LossAt(0);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->earliest, 5u);
  EXPECT_EQ(loss->first, 8u);
}

TEST(Balances, LossThatGoesOnLastsUntilItsLastFrame) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 8, kWindows, 20);
  Misses(places[0], 14, kWindows, 5);
  const auto loss = Balances(places).LossAt(0);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->frames, 25u);
  EXPECT_EQ(loss->last, 14u);
}

TEST(Balances, WhatComesAfterAllWasUnderWay) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 8, 12, 20);
  EXPECT_FALSE(Balances(places).LossAt(0));
}

TEST(Balances, AWindowThatSaysNothingPutsTheDetectionOff) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 8, kWindows, 20);
  places[0].missing[9] = Balance::kUnread;
  const auto loss = Balances(places).LossAt(0);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->detected_at, 10u);
}

// Elsewhere as many are missing at every other reading and come back: (90 + 1) of (200 + 1), twelve
// times in a row, is one in 13,000, and one in 20,000 would be beyond doubt.
TEST(Balances, AsManyAsAreUsuallyUnderWayElsewhereAreNoLoss) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 8, kWindows, 20);
  for (size_t p = 1; p < kPlaces; ++p) {
    for (size_t w = 0; w < kWindows; w += 2) Misses(places[p], w, w + 1, 20);
  }
  EXPECT_FALSE(Balances(places).LossAt(0));
}

// A place that is always full may have nine of its ten on the way whenever somebody looks.
TEST(Balances, AsManyAsABusyPlaceHoldsAreNoLoss) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 8, kWindows, 9);
  places[0].busy.assign(kWindows, 0.05);
  const auto loss = Balances(places).LossAt(0);
  ASSERT_TRUE(loss);
  EXPECT_TRUE(loss->small);
  places[0].busy.assign(kWindows, 1);
  EXPECT_FALSE(Balances(places).LossAt(0));
}

// A workload may keep time with the readings.
TEST(Balances, WhatMayBeUnderWayIsDoubtedForLonger) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 8, kWindows, 11);
  Misses(places[1], 8, kWindows, 9);
  places[1].busy.assign(kWindows, 0.01);
  const Balances balances(places);
  const auto large = balances.LossAt(0);
  const auto small = balances.LossAt(1);
  ASSERT_TRUE(large);
  ASSERT_TRUE(small);
  EXPECT_FALSE(large->small);
  EXPECT_TRUE(small->small);
  EXPECT_LT(large->detected_at, small->detected_at);
}

TEST(Balances, APlaceThatIsNotReadAtOneMomentHasNoLoss) {
  std::vector<Balance> places = Quiet();
  places[0] = {};
  EXPECT_FALSE(Balances(places).LossAt(0));
}

// After a window without data the balance starts from scratch; earlier windows still count.
TEST(Balances, WhatWentBeforeAnUnknownWindowStillCounts) {
  std::vector<Balance> places = Quiet();
  Misses(places[0], 8, 12, 20);
  places[0].missing[12] = Balance::kUnread;
  places[0].unknown = {12};
  Misses(places[0], 16, kWindows, 30);
  const auto loss = Balances(places).LossAt(0);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->frames, 50u);
  EXPECT_EQ(loss->first, 8u);
  EXPECT_EQ(loss->detected_at, 9u);
  EXPECT_EQ(loss->last, 16u);
}

TEST(Balances, OneReadingBetweenUnknownWindowsIsBelowDoubt) {
  std::vector<Balance> places = Quiet();
  for (const size_t w : {7u, 9u}) places[0].missing[w] = Balance::kUnread;
  places[0].unknown = {7, 9};
  places[0].missing[8] = 20;
  EXPECT_FALSE(Balances(places).LossAt(0));
}

}  // namespace
}  // namespace rocescope
