// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/kind_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string Message(std::string_view text) {
  const auto weights = LoadKindWeights(text, "p.yaml");
  return weights ? "" : weights.error().message;
}

TEST(KindWeights, AreReadFromAFileWithOtherKeys) {
  const auto weights = LoadKindWeights(
      "kinds: {flap: 30, pfc_storm: 0.5}\nloss_rates: [{least: 1e-5, most: 1e-4, share: 1}]\n"
      "field_loss_rates: []\nconcurrent: [50, 50]\nsame_place: 0.3\ngrowing: 0.2\n",
      "p.yaml");
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_THAT(*weights, ElementsAre(Pair("flap", 30), Pair("pfc_storm", 0.5)));
}

TEST(KindWeights, AnUnknownKindNamesTheNearest) {
  EXPECT_THAT(Message("kinds: {flop: 30}\n"), AllOf(HasSubstr("p.yaml:1:9"), HasSubstr("flap")));
}

TEST(KindWeights, AnInvalidWeightIsAnError) {
  EXPECT_THAT(Message("kinds: {flap: 0}\n"), HasSubstr("weight above 0"));
  EXPECT_THAT(Message("kinds: {flap: -1}\n"), HasSubstr("\"-1\""));
  EXPECT_THAT(Message("kinds: {flap: nan}\n"), HasSubstr("\"nan\""));
  EXPECT_THAT(Message("kinds: [flap]\n"), HasSubstr("flap: 30"));
  EXPECT_THAT(Message("kind: {flap: 1}\n"), HasSubstr("kinds"));
}

}  // namespace
}  // namespace rocescope
