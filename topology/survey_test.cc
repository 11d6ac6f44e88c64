// SPDX-License-Identifier: BSD-3-Clause
#include "topology/survey.h"

#include <gtest/gtest.h>

#include "topology/generate.h"
#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

TEST(SurveyTest, CountsEachTier) {
  const Survey survey = SurveyOf(*Generate({.shape = Shape::kFatTree, .k = 4}));

  const TierSurvey& leaves = survey.tiers[static_cast<size_t>(Tier::kLeaf)];
  EXPECT_EQ(leaves.nodes, 8u);
  EXPECT_EQ(leaves.ports, 32u);
  EXPECT_EQ(leaves.plugged, 32u);
  EXPECT_EQ(leaves.down_bits_per_second, 16 * 100'000'000'000u);
  EXPECT_EQ(leaves.up_bits_per_second, 16 * 100'000'000'000u);
  EXPECT_EQ(survey.tiers[static_cast<size_t>(Tier::kHost)].down_bits_per_second, 0u);
  EXPECT_EQ(survey.switches, 20u);
  EXPECT_EQ(survey.rails, 1u);
  EXPECT_TRUE(survey.notes.empty());
}

TEST(SurveyTest, NotesUnusualProperties) {
  const auto fabric = LoadFabric(
      "defaults: {speed: 1G}\n"
      "switches:\n"
      "  - {name: a, tier: leaf, int_switch_id: 1}\n"
      "  - {name: b, tier: leaf, int_switch_id: 2}\n"
      "  - {name: c, tier: spine}\n"
      "hosts:\n"
      "  - {name: h, nics: [{device: x, addresses: 10.0.0.1}, {device: y, addresses: 10.0.0.2}, "
      "{device: z}]}\n"
      "links: [[\"h:x\", \"a:1\"], [\"h:y\", \"b:1\"], [\"a:2\", \"b:2\"], [\"a:3\", \"c:1\"]]\n"
      "mirrors: [{switch: a, session: 1, direction: both}]\n",
      "f");
  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;

  EXPECT_EQ(SurveyOf(*fabric).notes,
            (std::vector<std::string>{
                "1 link connects nodes of the same tier and carries no traffic: a:2-b:2",
                "1 NIC is not connected: h:z",
                "1 NIC has no address, so its packets cannot be attributed: h:z",
                "1 switch has no ERSPAN source, sFlow agent or INT switch id: c",
                "1 mirror session is on a switch without an ERSPAN source: a session 1",
                "1 pair of edge switches has no path between them: a and b"}));
}

TEST(SurveyTest, NotesHostNamesThatLogsCannotDistinguish) {
  const auto fabric = LoadFabric(
      "defaults: {speed: 1G}\n"
      "switches:\n"
      "  - {name: a, tier: leaf, int_switch_id: 1}\n"
      "hosts:\n"
      "  - {name: gpu-7.rack1, nics: [{device: x, addresses: 10.0.0.1}]}\n"
      "  - {name: gpu-8, nics: [{device: x, addresses: 10.0.0.2}]}\n"
      "  - {name: GPU-7, nics: [{device: x, addresses: 10.0.0.3}]}\n"
      "links: [[\"gpu-7.rack1:x\", \"a:1\"], [\"gpu-8:x\", \"a:2\"], [\"GPU-7:x\", \"a:3\"]]\n",
      "f");
  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;

  EXPECT_EQ(SurveyOf(*fabric).notes,
            (std::vector<std::string>{
                "1 host name equals another one up to the first dot, so NCCL logs cannot "
                "distinguish the hosts: gpu-7.rack1 and GPU-7"}));
}

}  // namespace
}  // namespace rocescope::topology
