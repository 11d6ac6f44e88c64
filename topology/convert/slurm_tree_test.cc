// SPDX-License-Identifier: BSD-3-Clause
#include "topology/convert/slurm_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/convert/convert.h"
#include "topology/generate.h"
#include "topology/leaf_groups.h"
#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Returns the lines without comments.
std::string LinesOf(const SlurmTree& tree) {
  std::string lines;
  for (std::string_view rest = tree.text; !rest.empty();) {
    const size_t end = rest.find('\n') + 1;
    if (rest.front() != '#') lines += rest.substr(0, end);
    rest.remove_prefix(end);
  }
  return lines;
}

TEST(SlurmTree, LeavesAreBelowTheirSpines) {
  const Fabric fabric =
      Generate({.hosts = 4, .nics_per_host = 2, .leaves = 2, .spines = 3}).value();
  EXPECT_EQ(LinesOf(WriteSlurmTree(fabric)),
            "SwitchName=leaf0 Nodes=host[0-1]\n"
            "SwitchName=leaf1 Nodes=host[2-3]\n"
            "SwitchName=spines Switches=leaf[0-1]\n");
}

TEST(SlurmTree, LeavesOfTheSameRailsShareALine) {
  const Fabric fabric =
      Generate({.hosts = 4, .nics_per_host = 2, .rail_optimised = true, .leaves = 4, .spines = 2})
          .value();
  const SlurmTree tree = WriteSlurmTree(fabric);
  EXPECT_EQ(LinesOf(tree),
            "SwitchName=rails-leaf0 Nodes=host[0-1]\n"
            "SwitchName=rails-leaf2 Nodes=host[2-3]\n"
            "SwitchName=spines Switches=rails-leaf0,rails-leaf2\n");
  EXPECT_THAT(tree.text, HasSubstr("# rails-leaf2: leaf[2-3]\n"));
  EXPECT_THAT(tree.notes, IsEmpty());
}

TEST(SlurmTree, PodsAreBelowTheCores) {
  const Fabric fabric = Generate({.shape = Shape::kFatTree, .k = 4}).value();
  const std::string lines = LinesOf(WriteSlurmTree(fabric));
  EXPECT_THAT(lines, HasSubstr("SwitchName=leaf7 Nodes=host[14-15]\n"));
  EXPECT_THAT(lines, HasSubstr("SwitchName=pod1 Switches=leaf[2-3]\n"));
  EXPECT_THAT(lines, HasSubstr("SwitchName=cores Switches=pod[0-3]\n"));
}

TEST(SlurmTree, AStarIsOneLine) {
  const Fabric fabric = Generate({.shape = Shape::kStar, .hosts = 3}).value();
  EXPECT_EQ(LinesOf(WriteSlurmTree(fabric)), "SwitchName=leaf0 Nodes=host[0-2]\n");
}

TEST(SlurmTree, DisconnectedPartsHaveNoCommonParent) {
  const auto fabric = LoadFabric(R"(
defaults: {speed: 100G}
switches: [{name: "spines", tier: leaf}, {name: "leaf2", tier: leaf}]
hosts: [{name: "a[1,3,5,6]-x", nics: [{device: mlx5_0}]}, {name: b, nics: [{device: mlx5_0}]}]
links:
  - ["a1-x:mlx5_0", "spines:Ethernet1"]
  - ["a3-x:mlx5_0", "spines:Ethernet2"]
  - ["a5-x:mlx5_0", "leaf2:Ethernet1"]
  - ["a6-x:mlx5_0", "leaf2:Ethernet2"]
)",
                                 "fabric.yaml");
  ASSERT_TRUE(fabric) << fabric.error().message;
  const SlurmTree tree = WriteSlurmTree(*fabric);
  EXPECT_EQ(LinesOf(tree),
            "SwitchName=spines Nodes=a1-x,a3-x\n"
            "SwitchName=leaf2 Nodes=a5-x,a6-x\n");
  EXPECT_THAT(tree.notes, ElementsAre(HasSubstr("not connected to a switch: b"),
                                      HasSubstr("the fabric has 2 parts")));
}

// The written file, read by the Slurm converter, has the same neighbours.
TEST(SlurmTree, IsReadAsAFabricWithTheSameNeighbours) {
  const Fabric fabric = Generate({.shape = Shape::kFatTree, .nics_per_host = 2, .k = 4}).value();
  const auto read = ConvertSlurm(WriteSlurmTree(fabric).text, "topology.conf", {});
  ASSERT_TRUE(read) << read.error().message;
  const LeafGroups before = LeafGroupsOf(fabric);
  const LeafGroups after = LeafGroupsOf(read->fabric);
  ASSERT_EQ(after.groups.size(), before.groups.size());
  for (size_t i = 0; i < before.groups.size(); ++i) {
    std::vector<std::string> expected;
    std::vector<std::string> found;
    for (const NodeIndex host : before.groups[i].hosts) expected.push_back(fabric.node(host).name);
    for (const NodeIndex host : after.groups[i].hosts) {
      found.push_back(read->fabric.node(host).name);
    }
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace rocescope::topology
