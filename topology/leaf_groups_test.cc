// SPDX-License-Identifier: BSD-3-Clause
#include "topology/leaf_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generate.h"
#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<std::string> HostsOf(const Fabric& fabric, const LeafGroup& group) {
  std::vector<std::string> names;
  for (const NodeIndex host : group.hosts) names.push_back(fabric.node(host).name);
  return names;
}

TEST(LeafGroups, HostsOfARackFormAGroup) {
  const Fabric fabric =
      Generate({.hosts = 4, .nics_per_host = 2, .leaves = 2, .spines = 2}).value();
  const LeafGroups found = LeafGroupsOf(fabric);
  ASSERT_THAT(found.groups, SizeIs(2));
  EXPECT_THAT(HostsOf(fabric, found.groups[0]), ElementsAre("host0", "host1"));
  EXPECT_THAT(HostsOf(fabric, found.groups[1]), ElementsAre("host2", "host3"));
  EXPECT_EQ(NameOf(fabric, found.groups[1]), "leaf1");
  EXPECT_EQ(found.groups[0].pod, found.groups[1].pod);
  EXPECT_EQ(found.group_of[fabric.FindNode("leaf0")], kNone);
}

TEST(LeafGroups, HostsOfTheSameRailLeavesFormAGroup) {
  const Fabric fabric =
      Generate({.hosts = 4, .nics_per_host = 2, .rail_optimised = true, .leaves = 4, .spines = 2})
          .value();
  const LeafGroups found = LeafGroupsOf(fabric);
  ASSERT_THAT(found.groups, SizeIs(2));
  EXPECT_EQ(NameOf(fabric, found.groups[0]), "leaf[0-1]");
  EXPECT_THAT(HostsOf(fabric, found.groups[0]), ElementsAre("host0", "host1"));
}

TEST(LeafGroups, PodsOfAFatTreeAreConnectedByCores) {
  const Fabric fabric = Generate({.shape = Shape::kFatTree, .k = 4}).value();
  const LeafGroups found = LeafGroupsOf(fabric);
  EXPECT_THAT(found.groups, SizeIs(8)) << "k pods of k/2 leaves";
  EXPECT_THAT(found.part_of_pod, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(found.parts, 1u);
  EXPECT_EQ(found.groups[0].pod, found.groups[1].pod);
  EXPECT_NE(found.groups[1].pod, found.groups[2].pod);
}

TEST(LeafGroups, DisconnectedPartsAreSeparate) {
  const auto fabric = LoadFabric(R"(
defaults: {speed: 100G}
switches: [{name: "leaf[1-2]", tier: leaf}]
hosts: [{name: "a[1-3]", nics: [{device: mlx5_0}]}]
links: [["a1:mlx5_0", "leaf1:Ethernet1"], ["a2:mlx5_0", "leaf2:Ethernet1"]]
)",
                                 "fabric.yaml");
  ASSERT_TRUE(fabric) << fabric.error().message;
  const LeafGroups found = LeafGroupsOf(*fabric);
  ASSERT_THAT(found.groups, SizeIs(2));
  EXPECT_EQ(found.parts, 2u);
  EXPECT_EQ(found.group_of[fabric->FindNode("a3")], kNone) << "not plugged in";
}

}  // namespace
}  // namespace rocescope::topology
