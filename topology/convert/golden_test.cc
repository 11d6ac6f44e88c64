// SPDX-License-Identifier: BSD-3-Clause
// Tests the cases in testdata/, and example files of the other programs if they are available.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/fixtures.h"
#include "topology/convert/convert.h"
#include "topology/ecmp.h"
#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

struct Case {
  const char* folder;
  const char* file;
};

class GoldenConversion : public testing::TestWithParam<Case> {};

TEST_P(GoldenConversion, IsAsExpected) {
  const auto folder = test::SourceFile("topology/convert/testdata") / GetParam().folder;
  const std::string file = GetParam().file;
  const std::string text = test::ReadText(folder / file);

  const auto conversion = Convert(*FormatOfName(file), text, file, {});

  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  EXPECT_EQ(WriteFabric(conversion->fabric), test::ReadText(folder / "expected.yaml"));
}

INSTANTIATE_TEST_SUITE_P(Folders, GoldenConversion,
                         testing::Values(Case{"slurm-tree", "topology.conf"},
                                         Case{"containerlab-5-stage", "lab.clab.yml"},
                                         Case{"ptm-leaf-spine", "topology.dot"}));

size_t Count(const Fabric& fabric, Tier tier) {
  return std::count_if(fabric.nodes().begin(), fabric.nodes().end(),
                       [tier](const Node& node) { return node.tier == tier; });
}

Result<Conversion> ConvertFixture(const char* name, Format format) {
  const auto path = test::Fixture(name);
  if (!path) return MakeError(ErrorCode::kNotFound, "there is no fixture " + std::string(name));
  return Convert(format, test::ReadText(*path), name, {});
}

// lab-examples/clos02 of containerlab: two pods of two leaves and two spines, two superspines, four
// clients.
TEST(FixtureConversionTest, ContainerlabExampleHasFiveStages) {
  const auto conversion = ConvertFixture("topologies/clos02.clab.yml", Format::kContainerlab);
  if (!conversion && conversion.error().code == ErrorCode::kNotFound) {
    GTEST_SKIP() << conversion.error().message;
  }
  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  const Fabric& fabric = conversion->fabric;

  EXPECT_EQ(fabric.name(), "clos02");
  EXPECT_EQ(Count(fabric, Tier::kHost), 4u);
  EXPECT_EQ(Count(fabric, Tier::kLeaf), 4u);
  EXPECT_EQ(Count(fabric, Tier::kSpine), 4u);
  EXPECT_EQ(Count(fabric, Tier::kCore), 2u);
  EXPECT_EQ(fabric.links().size(), 16u);
  EXPECT_EQ(fabric.node(fabric.FindNode("leaf2")).pod, fabric.node(fabric.FindNode("spine1")).pod);
  EXPECT_NE(fabric.node(fabric.FindNode("leaf2")).pod, fabric.node(fabric.FindNode("leaf3")).pod);
  Routes routes(fabric);
  EXPECT_EQ(PathSet(routes, 0, 1).Count(), 2u) << "within a pod, by either spine";
  EXPECT_EQ(PathSet(routes, 0, 3).Count(), 2u) << "between pods, by either superspine";
}

// expected.slinky-oci-sim-tree.conf of Topograph: 12 leaves with 8 nodes each, 6 spines, one core.
TEST(FixtureConversionTest, TopographExampleHasThreeTiers) {
  const auto conversion =
      ConvertFixture("schedulers/expected.slinky-oci-sim-tree.conf", Format::kSlurm);
  if (!conversion && conversion.error().code == ErrorCode::kNotFound) {
    GTEST_SKIP() << conversion.error().message;
  }
  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  const Fabric& fabric = conversion->fabric;

  EXPECT_EQ(Count(fabric, Tier::kHost), 96u);
  EXPECT_EQ(Count(fabric, Tier::kLeaf), 12u);
  EXPECT_EQ(Count(fabric, Tier::kSpine), 6u);
  EXPECT_EQ(Count(fabric, Tier::kCore), 1u);
  EXPECT_EQ(fabric.node(fabric.FindNode("switch.1.12")).pod, 5u);
  EXPECT_NE(fabric.FindNode("srv6208"), kNone);
}

TEST(FixtureConversionTest, BlockTopologyIsRejected) {
  const auto conversion =
      ConvertFixture("schedulers/expected.slinky-dra-block.conf", Format::kSlurm);
  if (!conversion && conversion.error().code == ErrorCode::kNotFound) {
    GTEST_SKIP() << conversion.error().message;
  }

  ASSERT_FALSE(conversion.has_value());
  EXPECT_NE(conversion.error().message.find(":2:1: block topologies are not supported"),
            std::string::npos)
      << conversion.error().message;
}

}  // namespace
}  // namespace rocescope::topology
