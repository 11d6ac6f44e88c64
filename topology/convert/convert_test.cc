// SPDX-License-Identifier: BSD-3-Clause
#include "topology/convert/convert.h"

#include <gtest/gtest.h>

#include "topology/convert/cabling.h"
#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

Conversion Slurm(std::string_view text, const ConvertOptions& options = {}) {
  auto conversion = ConvertSlurm(text, "t.conf", options);
  if (!conversion) throw std::runtime_error(conversion.error().message);
  return *std::move(conversion);
}

TEST(ConvertTest, OptionsSupplyMissingProperties) {
  const Fabric fabric = Slurm("SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Switches=s0\n",
                              {.bits_per_second = 400'000'000'000,
                               .delay = Duration(300),
                               .gpus_per_host = 4,
                               .nics_per_host = 2,
                               .parallel_links = 3})
                            .fabric;

  EXPECT_EQ(fabric.nics().size(), 4u);
  EXPECT_EQ(fabric.links().size(), 4u + 3);
  EXPECT_EQ(fabric.link(0).bits_per_second, 400'000'000'000u);
  EXPECT_EQ(fabric.link(6).delay, Duration(300));
  ASSERT_EQ(fabric.gpus().size(), 8u);
  EXPECT_EQ(fabric.gpu(3).rail, 1u);
  EXPECT_EQ(fabric.nic(fabric.gpu(3).nic).device, "mlx5_1");
}

TEST(ConvertTest, NamePatternsTakePrecedence) {
  ConvertOptions options;
  options.names_of_tier[static_cast<size_t>(Tier::kLeaf)] = {"border*"};
  const auto conversion = ConvertPtm(
      "graph G { \"border1\":\"swp1\" -- \"spine1\":\"swp1\"; \"gpu1\":\"a\" -- "
      "\"leaf1\":\"swp1\"; "
      "\"leaf1\":\"swp2\" -- \"spine1\":\"swp2\" }",
      "t.dot", options);

  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  const Fabric& fabric = conversion->fabric;
  EXPECT_EQ(fabric.node(fabric.FindNode("border1")).tier, Tier::kLeaf);
  EXPECT_EQ(fabric.node(fabric.FindNode("gpu1")).tier, Tier::kHost);
}

TEST(ConvertTest, UnknownTierIsDerivedFromTheDistanceToHosts) {
  const auto conversion = ConvertContainerlab(
      "name: x\ntopology:\n  nodes:\n    a: {kind: srl}\n    b: {kind: srl}\n    h: {kind: linux}\n"
      "  links:\n    - endpoints: [\"h:eth1\", \"a:e1-1\"]\n    - endpoints: [\"a:e1-2\", "
      "\"b:e1-1\"]\n",
      "t.clab.yml", {});

  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  EXPECT_EQ(conversion->fabric.node(conversion->fabric.FindNode("a")).tier, Tier::kLeaf);
  EXPECT_EQ(conversion->fabric.node(conversion->fabric.FindNode("b")).tier, Tier::kSpine);
  ASSERT_EQ(conversion->notes.size(), 2u);
  EXPECT_EQ(conversion->notes[1], "assumed to be spine tier, from the distance to hosts: b");
}

// Each node has its own group. Searching all groups for each node took 27 s for 128,000 nodes.
TEST(ConvertTest, KindsAndGroupsOfContainerlabAreInherited) {
  constexpr int kHosts = 30'000;
  std::string text =
      "name: x\ntopology:\n  defaults: {kind: srl}\n"
      "  kinds: {srl: {group: spine}, eos: {group: leaf}}\n  groups:\n";
  for (int i = 0; i < kHosts; ++i) text += "    g" + std::to_string(i) + ": {kind: linux}\n";
  text +=
      "    edge: {kind: eos}\n  nodes:\n    a: {kind: eos}\n    b:\n    c: {kind: eos, group: "
      "edge}\n"
      "    d: {group: core}\n";
  for (int i = kHosts; i-- > 0;) {
    text += "    h" + std::to_string(i) + ": {group: g" + std::to_string(i) + "}\n";
  }
  text +=
      "  links: [{endpoints: [\"h0:eth1\", \"a:e1\"]}, {endpoints: [\"a:e2\", \"b:e1\"]}, "
      "{endpoints: [\"c:e2\", \"b:e2\"]}, {endpoints: [\"d:e1\", \"b:e3\"]}]\n";
  const auto conversion = ConvertContainerlab(text, "t.clab.yml", {});

  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  const auto tier_of = [&](std::string_view name) {
    return conversion->fabric.node(conversion->fabric.FindNode(name)).tier;
  };
  EXPECT_EQ(tier_of("h0"), Tier::kHost);
  EXPECT_EQ(tier_of("a"), Tier::kLeaf);
  EXPECT_EQ(tier_of("b"), Tier::kSpine);
  EXPECT_EQ(tier_of("d"), Tier::kCore);
}

TEST(ConvertTest, NamesDetermineTiers) {
  EXPECT_EQ(TierByName("leaf03"), Tier::kLeaf);
  EXPECT_EQ(TierByName("Spine-1"), Tier::kSpine);
  EXPECT_EQ(TierByName("superspine2"), Tier::kCore);
  EXPECT_EQ(TierByName("core1"), Tier::kCore);
  EXPECT_EQ(TierByName("tor-7"), Tier::kLeaf);
  EXPECT_EQ(TierByName("gpu-7"), std::nullopt);
  EXPECT_EQ(TierByRole("server"), Tier::kHost);
}

TEST(ConvertTest, ConvertedFabricCanBeWrittenAndRead) {
  const Conversion conversion = Slurm("SwitchName=s0 Nodes=n[1-2],m\n");
  const std::string text = WriteFabric(conversion.fabric);
  const auto again = LoadFabric(text, "again.yaml");

  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(WriteFabric(*again), text);
}

struct Mistake {
  Format format;
  const char* text;
  const char* says;  // the complete message
};

class BadConversion : public testing::TestWithParam<Mistake> {};

TEST_P(BadConversion, IsToldWithItsPlace) {
  const auto conversion = Convert(GetParam().format, GetParam().text, "f", {});

  ASSERT_FALSE(conversion.has_value());
  EXPECT_EQ(conversion.error().message, GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    Slurm, BadConversion,
    testing::Values(
        Mistake{Format::kSlurm, "", "f:1:1: no line starts with SwitchName="},
        Mistake{Format::kSlurm, "SwitchName=a Node=b\n",
                "f:1:14: unknown key \"Node\"; did you mean \"Nodes\"?"},
        Mistake{Format::kSlurm, "Nodes=b\n", "f:1:1: the line does not start with SwitchName="},
        Mistake{Format::kSlurm, "SwitchName=a Nodes=b[1-\n",
                "f:1:14: Nodes: \"b[1-\" has no closing ]"},
        Mistake{Format::kSlurm, "# x\nSwitchName=a Switches=b\n",
                "f:2:14: no line defines SwitchName=b"},
        Mistake{Format::kSlurm, "SwitchName=a Nodes=n\nSwitchName=a Nodes=m\n",
                "f:2:1: a is already defined in line 1"},
        Mistake{Format::kSlurm, "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
                "f:1:1: a is above more than two tiers of switches or above itself; expected "
                "at most leaf, spine and core"}));

INSTANTIATE_TEST_SUITE_P(
    Containerlab, BadConversion,
    testing::Values(
        Mistake{Format::kContainerlab, "name: x\n",
                "f:1:1: expected a containerlab topology: a map \"topology\" with a map \"nodes\""},
        Mistake{Format::kContainerlab,
                "topology:\n  nodes: {a: {kind: linux}}\n  links:\n    - endpoints: [\"a:e1\"]\n",
                "f:4:7: expected a link with two endpoints such as [\"leaf1:e1-1\", "
                "\"spine1:e1-1\"]"},
        Mistake{Format::kContainerlab,
                "topology:\n  nodes: {a: {kind: linux}}\n  links:\n"
                "    - endpoints: [\"a:e1\", \"b:e1\"]\n",
                "f:4:27: there is no node \"b\""},
        Mistake{Format::kContainerlab,
                "topology:\n  nodes: {a: {kind: linux}}\n  links:\n"
                "    - endpoints: [\"a:e1\", \"a\"]\n",
                "f:4:27: expected an endpoint NODE:INTERFACE such as leaf1:e1-1"},
        Mistake{Format::kContainerlab, "topology:\n  nodes: {a: {kind: srl}}\n",
                "f:2:11: the tier of a is unknown; set it with the option for hosts, leaves, "
                "spines or cores"},
        Mistake{
            Format::kContainerlab,
            "topology:\n  nodes: {a: {kind: linux}, leaf: {kind: srl}}\n  links:\n"
            "    - endpoints: [\"a:e1\", \"leaf:e1\"]\n    - endpoints: [\"a:e1\", \"leaf:e2\"]\n",
            "f:5:7: a:e1 already has the link in line 4"}));

INSTANTIATE_TEST_SUITE_P(
    Ptm, BadConversion,
    testing::Values(
        Mistake{Format::kPtm, "",
                "f:1:1: expected \"graph\" at the start of the cabling plan, found the "
                "end of the file"},
        Mistake{Format::kPtm, "graph G {\n}\n", "f:3:1: the graph has no nodes"},
        Mistake{Format::kPtm, "graph G {\n  a:b -> c:d\n}\n",
                "f:2:7: expected -- (a cable has no direction), found \"->\""},
        Mistake{Format::kPtm, "graph G {\n  a:b -- c\n}\n",
                "f:2:10: the end of the cable at c has no port; expected \"c\":\"swp1\""},
        Mistake{Format::kPtm, "graph G {\n  a:b -- \"c:d\n}\n",
                "f:2:10: expected the other end of the cable, found a quoted text without a "
                "closing quote"},
        Mistake{Format::kPtm, "graph G {\n  subgraph x { }\n}\n",
                "f:2:3: expected a cable (subgraphs are not supported), found \"subgraph\""},
        Mistake{Format::kPtm, "graph G {\n  a:b -- c:d\n",
                "f:3:1: expected a cable such as \"leaf1\":\"swp1\" -- \"spine1\":\"swp1\", or }, "
                "found the end of the file"}));

}  // namespace
}  // namespace rocescope::topology
