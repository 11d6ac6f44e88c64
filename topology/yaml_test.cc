// SPDX-License-Identifier: BSD-3-Clause
#include "topology/yaml.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fixtures.h"
#include "topology/ecmp.h"
#include "topology/generate.h"

namespace rocescope::topology {
namespace {

Fabric Load(std::string_view text) {
  auto fabric = LoadFabric(text, "f.yaml");
  if (!fabric) throw std::runtime_error(fabric.error().message);
  return *std::move(fabric);
}

std::string PeerOf(const Fabric& fabric, std::string_view node, std::string_view port) {
  const PortIndex peer = fabric.Peer(fabric.FindPort(fabric.FindNode(node), port));
  return peer == kNone ? "nothing" : fabric.NameOf(peer);
}

const Link& LinkAt(const Fabric& fabric, std::string_view node, std::string_view port) {
  return fabric.link(fabric.port(fabric.FindPort(fabric.FindNode(node), port)).link);
}

// Returns the YAML examples of the README, in order.
std::vector<std::string> Examples() {
  const std::string page = test::ReadText(test::SourceFile("topology/README.md"));
  std::vector<std::string> examples;
  const std::string fence = "\n```yaml\n";
  for (size_t at = 0; (at = page.find(fence, at)) != std::string::npos;) {
    at += fence.size();
    examples.push_back(page.substr(at, page.find("```", at) - at));
  }
  return examples;
}

TEST(YamlExampleTest, DescribedFabricMatchesTheReadme) {
  ASSERT_EQ(Examples().size(), 2u);
  const Fabric fabric = Load(Examples()[0]);

  EXPECT_EQ(fabric.name(), "training");
  EXPECT_EQ(fabric.nodes().size(), 7u);
  const NodeIndex leaf2 = fabric.FindNode("leaf2");
  EXPECT_EQ(fabric.node(leaf2).pod, 0u);
  EXPECT_EQ(fabric.FindSwitchByInt(102), leaf2);
  EXPECT_EQ(fabric.FindSwitchBySflow(*ParseIpAddress("192.0.2.2")), leaf2);
  EXPECT_EQ(fabric.FindPortByNumber(leaf2, 4), fabric.FindPort(leaf2, "Ethernet12"));

  const NodeIndex host = fabric.FindNode("gpu-02");
  const NicIndex nic = fabric.FindNicByDevice(host, "mlx5_1");
  EXPECT_EQ(fabric.FindNic({.segment = 5002, .address = *ParseIpAddress("10.1.0.2")}), nic);
  EXPECT_EQ(fabric.port(fabric.nic(nic).port).name, "enp2s0");
  EXPECT_EQ(fabric.port(fabric.nic(nic).port).number, 5u);
  ASSERT_EQ(fabric.GpusOf(host).size(), 2u);
  EXPECT_EQ(fabric.gpu(fabric.GpusOf(host)[0]).pci, "0000:1b:00.0");
  EXPECT_EQ(fabric.gpu(fabric.GpusOf(host)[0]).nic, fabric.FindNicByDevice(host, "mlx5_0"));
  EXPECT_EQ(fabric.gpu(fabric.GpusOf(host)[1]).rail, 1u);
  EXPECT_EQ(fabric.gpu(fabric.GpusOf(host)[1]).nic, kNone);

  EXPECT_EQ(PeerOf(fabric, "gpu-02", "mlx5_0"), "leaf1:Ethernet4");
  EXPECT_EQ(PeerOf(fabric, "leaf2", "Ethernet12"), "spine1:Ethernet2");
  EXPECT_EQ(LinkAt(fabric, "gpu-02", "mlx5_0").bits_per_second, 400'000'000'000u);
  EXPECT_EQ(LinkAt(fabric, "gpu-02", "mlx5_0").delay, Duration(500));
  EXPECT_EQ(LinkAt(fabric, "gpu-03", "mlx5_0").bits_per_second, 200'000'000'000u);
  EXPECT_EQ(LinkAt(fabric, "gpu-03", "mlx5_0").delay, Duration(20));

  ASSERT_EQ(fabric.taps().size(), 3u);
  EXPECT_EQ(fabric.tap(0).ports.size(), 3u) << "of leaf1's ports three lead to hosts";
  EXPECT_EQ(fabric.tap(1).ports.size(), 2u);
  EXPECT_FALSE(fabric.tap(2).names_port);
  EXPECT_TRUE(fabric.tap(2).before_queue);
  EXPECT_EQ(fabric.tap(2).session, 7u);
}

TEST(YamlExampleTest, GeneratedFabricIsOverriddenAsInTheReadme) {
  const Fabric fabric = Load(Examples()[1]);

  EXPECT_EQ(fabric.nics().size(), 1024u);
  EXPECT_NE(fabric.FindNode("node128"), kNone);
  EXPECT_EQ(PeerOf(fabric, "node001", "mlx5_0"), "leaf0:Ethernet2");
  EXPECT_EQ(PeerOf(fabric, "node002", "mlx5_0"), "leaf0:Ethernet1");
  EXPECT_EQ(LinkAt(fabric, "node002", "mlx5_0").bits_per_second, 200'000'000'000u);
  EXPECT_EQ(LinkAt(fabric, "leaf0", "Ethernet9").bits_per_second, 100'000'000'000u);
  EXPECT_EQ(LinkAt(fabric, "leaf0", "Ethernet10").bits_per_second, 400'000'000'000u);
  EXPECT_EQ(PeerOf(fabric, "leaf5", "Ethernet16"), "nothing");
  EXPECT_EQ(fabric.links().size(), 1024u + 2 * 1024 - 1);
  const NicIndex nic = fabric.FindNic({.address = *ParseIpAddress("192.168.3.128")});
  ASSERT_NE(nic, kNone);
  EXPECT_EQ(fabric.nic(nic).device, "mlx5_3");
  EXPECT_EQ(fabric.nic(nic).rail, 3u);
  EXPECT_EQ(fabric.FindNic({.address = *ParseIpAddress("10.3.0.128")}), kNone);
}

void ExpectSame(const Fabric& a, const Fabric& b) {
  const auto same_port = [](const Port& x, const Port& y) {
    return std::tie(x.node, x.number, x.name, x.link) == std::tie(y.node, y.number, y.name, y.link);
  };
  const auto same_node = [](const Node& x, const Node& y) {
    return std::tie(x.name, x.tier, x.pod, x.first_port, x.port_count, x.erspan_source,
                    x.sflow_agent, x.int_switch_id) == std::tie(y.name, y.tier, y.pod, y.first_port,
                                                                y.port_count, y.erspan_source,
                                                                y.sflow_agent, y.int_switch_id);
  };
  const auto same_link = [](const Link& x, const Link& y) {
    return std::tie(x.ends, x.bits_per_second, x.delay) ==
           std::tie(y.ends, y.bits_per_second, y.delay);
  };
  const auto same_nic = [](const Nic& x, const Nic& y) {
    return std::tie(x.host, x.port, x.device, x.pci, x.rail, x.addresses) ==
           std::tie(y.host, y.port, y.device, y.pci, y.rail, y.addresses);
  };
  const auto same_gpu = [](const Gpu& x, const Gpu& y) {
    return std::tie(x.host, x.number, x.pci, x.rail, x.nic) ==
           std::tie(y.host, y.number, y.pci, y.rail, y.nic);
  };
  const auto same_tap = [](const Tap& x, const Tap& y) {
    return std::tie(x.node, x.session, x.direction, x.names_port, x.before_queue, x.ports) ==
           std::tie(y.node, y.session, y.direction, y.names_port, y.before_queue, y.ports);
  };
  EXPECT_EQ(a.name(), b.name());
  EXPECT_TRUE(std::ranges::equal(a.nodes(), b.nodes(), same_node));
  EXPECT_TRUE(std::ranges::equal(a.ports(), b.ports(), same_port));
  EXPECT_TRUE(std::ranges::equal(a.links(), b.links(), same_link));
  EXPECT_TRUE(std::ranges::equal(a.nics(), b.nics(), same_nic));
  EXPECT_TRUE(std::ranges::equal(a.gpus(), b.gpus(), same_gpu));
  EXPECT_TRUE(std::ranges::equal(a.taps(), b.taps(), same_tap));
}

TEST(WriteFabricTest, WrittenFabricIsReadAsTheSame) {
  std::vector<Fabric> fabrics = {
      *Generate({.shape = Shape::kStar, .hosts = 3, .gpus_per_host = 0}),
      *Generate({.hosts = 12, .nics_per_host = 2, .leaves = 4, .spines = 3, .parallel_links = 2}),
      *Generate({.shape = Shape::kFatTree, .nics_per_host = 2, .rail_optimised = true, .k = 8}),
      *Fabric::Make({})};
  for (const std::string& example : Examples()) fabrics.push_back(Load(example));
  for (const Fabric& fabric : fabrics) {
    const std::string text = WriteFabric(fabric);
    const auto again = LoadFabric(text.empty() ? "{}" : text, "again.yaml");
    ASSERT_TRUE(again.has_value()) << again.error().message << "\n" << text;
    ExpectSame(fabric, *again);
    EXPECT_EQ(WriteFabric(*again), text);
  }
}

TEST(WriteFabricTest, UnusualNamesAreQuoted) {
  for (const char* name : {"null", "~",  "-",  "true", "a#b", "#a", "{a}", "it's", "a\\b", "@x",
                           "%",    "*a", "&a", "!a",   "|",   ">",  "?",   "a=b",  "1",    "0x1"}) {
    Fabric::Parts parts = *GenerateParts({.shape = Shape::kStar, .hosts = 2});
    parts.nodes[1].name = name;
    parts.nics[1].device = name;
    parts.ports[0].name = std::string(name) + ": " + name;
    const auto fabric = Fabric::Make(parts);
    ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
    ExpectSame(*fabric, Load(WriteFabric(*fabric)));
  }
}

TEST(WriteFabricTest, ThousandHostsTakeFewLines) {
  const Fabric fabric = *Generate({.hosts = 1000, .nics_per_host = 8, .leaves = 40, .spines = 20});
  const std::string text = WriteFabric(fabric);

  // The eight cables of a host take one line, and those of a leaf to all spines another; the rest
  // is short.
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 1000 + 40 + 60) << text;
}

TEST(LoadFabricTest, UnlistedPortsAreNumberedByTheirNames) {
  const Fabric fabric = Load(
      "defaults: {speed: 1G}\nswitches: [{name: a, tier: leaf}, {name: b, tier: spine}]\n"
      "links: [[\"a:swp49\", \"b:swp2\"], [\"a:swp50\", \"b:swp1\"]]\n");

  EXPECT_EQ(fabric.port(fabric.FindPort(0, "swp49")).number, 49u);
  EXPECT_EQ(fabric.port(fabric.FindPort(1, "swp1")).number, 1u);
}

TEST(LoadFabricTest, PortsWithoutDistinctNumbersAreNumberedInOrder) {
  const Fabric fabric = Load(
      "defaults: {speed: 1G}\nswitches: [{name: a, tier: leaf}, {name: b, tier: spine}]\n"
      "links: [[\"a:1/1\", \"b:x\"], [\"a:2/1\", \"b:y3\"]]\n");

  EXPECT_EQ(fabric.port(fabric.FindPort(0, "1/1")).number, 1u);
  EXPECT_EQ(fabric.port(fabric.FindPort(0, "2/1")).number, 2u);
  EXPECT_EQ(fabric.port(fabric.FindPort(1, "y3")).number, 2u);
}

// Three tiers with 8,192 hosts (k = 32): 1,280 switches, 24,576 links.
TEST(LoadFabricTest, EightThousandHostsKeepTheirPaths) {
  const Fabric fabric = Load(WriteFabric(*Generate({.shape = Shape::kFatTree, .k = 32})));
  Routes routes(fabric);

  EXPECT_EQ(fabric.nics().size(), 8192u);
  EXPECT_EQ(fabric.links().size(), 24'576u);
  EXPECT_EQ(PathSet(routes, 0, 8191).Count(), 256u);
}

}  // namespace
}  // namespace rocescope::topology
