// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rocescope {
namespace {

using testing::ElementsAre;

Exposed At(uint32_t node, Passed passed) {
  return {.place = {.kind = PlaceKind::kSwitch, .index = node}, .passed = std::move(passed)};
}

// Returns the suspected nodes in the order of their rank.
std::vector<uint32_t> NodesOf(const std::vector<Suspect>& ranked) {
  std::vector<uint32_t> nodes;
  for (const Suspect& suspect : ranked) nodes.push_back(suspect.place.index);
  return nodes;
}

// Each affected packet is a draw from the traffic that passed: place 1 gives (1/2)^4, place 2 gives
// (1/4)^2 (3/4)^2, which is 9/16 of that. Losses elsewhere change 1 in 10,000.
TEST(RankSuspects, SharesGoAsTheLikelihoodsOfTheDraws) {
  const auto ranked =
      RankSuspects({{At(1, {{7, 1}, {8, 1}}), At(2, {{7, 1}, {8, 3}})}}, {{7, 2}, {8, 2}});
  ASSERT_EQ(ranked.size(), 2u);
  EXPECT_EQ(NodesOf(ranked), (std::vector<uint32_t>{1, 2}));
  EXPECT_NEAR(ranked[0].probability, 16.0 / 25, 1e-4);
  EXPECT_NEAR(ranked[1].probability, 9.0 / 25, 1e-4);
}

TEST(RankSuspects, SharesOfTheTrafficCountAndNotItsAmount) {
  const auto ranked =
      RankSuspects({{At(1, {{7, 1e9}, {8, 1e9}}), At(2, {{7, 3}, {8, 3}})}}, {{7, 5}, {8, 4}});
  ASSERT_EQ(ranked.size(), 2u);
  EXPECT_NEAR(ranked[0].probability, 0.5, 1e-9);
  EXPECT_EQ(NodesOf(ranked), (std::vector<uint32_t>{1, 2})) << "of equals, the lesser place first";
}

// Nearly all of what passes place 2 was spared.
TEST(RankSuspects, WhoPassedAndWasNotHurtSpeaksForAPlace) {
  const auto ranked = RankSuspects({{At(1, {{7, 1}, {8, 9}}), At(2, {{7, 1}})}}, {{7, 3}});
  EXPECT_EQ(NodesOf(ranked), (std::vector<uint32_t>{2, 1}));
  EXPECT_NEAR(ranked[1].probability, 1.0 / 1001, 1e-5);  // (1/10)^3
}

// One that did not pass place 1: in one of a hundred it comes from elsewhere, which is any of a
// thousand. For place 2, which both passed, each of the others was half as likely.
TEST(RankSuspects, OneHurtFromElsewhereDoesNotClearAPlaceThatExplainsAllOthers) {
  const std::vector<Exposed> places = {At(1, {{7, 1}}), At(2, {{7, 1}, {8, 1}})};
  EXPECT_EQ(NodesOf(RankSuspects(places, {{7, 10}, {8, 1}})), (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(NodesOf(RankSuspects(places, {{7, 20}, {8, 1}})), (std::vector<uint32_t>{1, 2}));
  const auto ranked = RankSuspects(places, {{7, 16}, {8, 1}});
  const double odds = 0.495 / 1e-5 / std::pow(2, 16);  // the odds of place 2 against place 1
  EXPECT_NEAR(ranked[0].probability, 1 / (1 + odds), 1e-4);
}

TEST(RankSuspects, APlaceThatPassedNothingIsNone) {
  EXPECT_EQ(NodesOf(RankSuspects({{At(1, {}), At(2, {{7, 0}}), At(3, {{7, 1}})}}, {{7, 1}})),
            std::vector<uint32_t>{3});
  EXPECT_TRUE(RankSuspects({}, {{7, 1}}).empty());
}

// Likelihoods as small as 10^-300,000 are none that a double holds.
TEST(RankSuspects, ManyHurtsAreStillShares) {
  const auto ranked =
      RankSuspects({{At(1, {{7, 1}, {8, 999}}), At(2, {{7, 1}, {8, 999}})}}, {{7, 100'000}});
  ASSERT_EQ(ranked.size(), 2u);
  EXPECT_NEAR(ranked[0].probability, 0.5, 1e-9);
  EXPECT_NEAR(ranked[1].probability, 0.5, 1e-9);
}

TEST(SetSuspects, TheFirstIsTheFindingAndTheNextAreItsRivals) {
  const std::vector<Suspect> ranked = {
      {.kind = FaultKind::kGrayLoss, .place = {.index = 1}, .probability = 0.6},
      {.kind = FaultKind::kCorruption, .place = {.index = 2}, .probability = 0.395},
      {.kind = FaultKind::kCorruption, .place = {.index = 3}, .probability = 0.005}};
  Finding finding;
  SetSuspects(ranked, finding);
  EXPECT_EQ(finding.kind, FaultKind::kGrayLoss);
  EXPECT_EQ(finding.place.index, 1u);
  EXPECT_EQ(finding.confidence, 0.6);
  EXPECT_THAT(finding.alternatives, ElementsAre(ranked[1]))
      << "less than one in a hundred is no rival";
}

TEST(SetSuspects, FourRivalsAreEnough) {
  std::vector<Suspect> ranked;
  for (uint32_t i = 0; i < 10; ++i) ranked.push_back({.place = {.index = i}, .probability = 0.1});
  Finding finding;
  SetSuspects(ranked, finding);
  EXPECT_THAT(finding.alternatives, ElementsAre(ranked[1], ranked[2], ranked[3], ranked[4]));
}

TEST(SetSuspects, ASingleSuspectHasNoRivals) {
  const std::vector<Suspect> ranked = {{.place = {.index = 4}, .probability = 1}};
  Finding finding;
  SetSuspects(ranked, finding);
  EXPECT_EQ(finding.place.index, 4u);
  EXPECT_TRUE(finding.alternatives.empty());
}

}  // namespace
}  // namespace rocescope
