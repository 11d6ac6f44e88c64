// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/priors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rocescope::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kRates = "loss_rates: [{least: 1e-5, most: 1e-4, share: 2}]\n";

std::string Message(const std::string& text) {
  const auto priors = LoadPriors(text, "p.yaml");
  return priors ? std::string() : priors.error().message;
}

TEST(LoadPriorsTest, ReadsWeightsAndRates) {
  const auto priors =
      LoadPriors("kinds: {flap: 30, pfc_storm: 0.5}\n" + std::string(kRates), "p.yaml");
  ASSERT_TRUE(priors.has_value()) << priors.error().message;
  EXPECT_EQ(priors->kinds[static_cast<size_t>(FaultKind::kFlap)], 30);
  EXPECT_EQ(priors->kinds[static_cast<size_t>(FaultKind::kPfcStorm)], 0.5);
  EXPECT_EQ(priors->kinds[static_cast<size_t>(FaultKind::kIncast)], 0);
  ASSERT_EQ(priors->loss_rates.size(), 1u);
  EXPECT_EQ(priors->loss_rates[0].most, 1e-4);
}

TEST(LoadPriorsTest, UnknownKindSuggestsTheNearest) {
  EXPECT_THAT(Message("kinds: {flop: 30}\n" + std::string(kRates)),
              AllOf(HasSubstr("p.yaml:1:9"), HasSubstr("flap")));
}

TEST(LoadPriorsTest, UnusableWeightsAreErrors) {
  EXPECT_THAT(Message("kinds: {flap: 0}\n" + std::string(kRates)), HasSubstr("weight above 0"));
  EXPECT_THAT(Message("kinds: {flap: -1}\n" + std::string(kRates)), HasSubstr("\"-1\""));
  EXPECT_THAT(Message("kinds: {flap: nan}\n" + std::string(kRates)), HasSubstr("\"nan\""));
  EXPECT_THAT(Message("kinds: [flap]\n" + std::string(kRates)), HasSubstr("flap: 30"));
  EXPECT_THAT(Message("kinds: {flap: 1}\n"), HasSubstr("loss_rates"));
  EXPECT_THAT(Message("kinds: {flap: 1}\nloss_rates: []\n"), HasSubstr("share above 0"));
  EXPECT_THAT(Message("kinds: {flap: 1}\nloss_rates: [{least: 0.1, most: 0.01, share: 1}]\n"),
              HasSubstr("p.yaml:2:14"));
}

TEST(LoadPriorsTest, KeysForSeveralFaultsAreOptional) {
  const std::string least = "kinds: {flap: 1}\n" + std::string(kRates);
  const auto defaults = LoadPriors(least, "p.yaml");
  ASSERT_TRUE(defaults.has_value()) << defaults.error().message;
  EXPECT_TRUE(defaults->field_loss_rates.empty());
  const auto all = LoadPriors(least +
                                  "field_loss_rates: [{least: 3e-8, most: 1e-5, share: 1}]\n"
                                  "concurrent: [4, 3, 2, 1]\n"
                                  "same_place: 0.25\n"
                                  "growing: 1\n",
                              "p.yaml");
  ASSERT_TRUE(all.has_value()) << all.error().message;
  ASSERT_EQ(all->field_loss_rates.size(), 1u);
  EXPECT_EQ(all->field_loss_rates[0].least, 3e-8);
  EXPECT_EQ(all->concurrent[3], 1);
  EXPECT_EQ(all->same_place, 0.25);
  EXPECT_EQ(all->growing, 1);
}

TEST(LoadPriorsTest, UnusableKeysForSeveralFaultsAreErrors) {
  const std::string least = "kinds: {flap: 1}\n" + std::string(kRates);
  EXPECT_THAT(Message(least + "concurrent: [1, 2]\n"),
              AllOf(HasSubstr("p.yaml:3:13"), HasSubstr("four weights")));
  EXPECT_THAT(Message(least + "concurrent: [0, 0, 0, 0]\n"), HasSubstr("above 0"));
  EXPECT_THAT(Message(least + "same_place: 1.5\n"), HasSubstr("\"1.5\""));
  EXPECT_THAT(Message(least + "growing: -1\n"), HasSubstr("\"-1\""));
}

}  // namespace
}  // namespace rocescope::sim
