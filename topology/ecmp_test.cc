// SPDX-License-Identifier: BSD-3-Clause
// The expected values are closed forms of the shapes.
#include "topology/ecmp.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "topology/builder.h"
#include "topology/generate.h"

namespace rocescope::topology {
namespace {

Fabric FatTree(uint32_t k) { return *Generate({.shape = Shape::kFatTree, .k = k}); }

// Returns the first link between the two nodes.
LinkIndex LinkBetween(const Fabric& fabric, std::string_view a, std::string_view b) {
  const Node& node = fabric.node(fabric.FindNode(a));
  for (PortIndex p = node.first_port; p < node.first_port + node.port_count; ++p) {
    if (fabric.PeerNode(p) == fabric.FindNode(b)) return fabric.port(p).link;
  }
  return kNone;
}

uint64_t CountWithout(const Fabric& fabric, std::initializer_list<LinkIndex> failed,
                      NicIndex source, NicIndex destination) {
  Routes routes(fabric);
  std::vector<bool> links(fabric.links().size());
  for (const LinkIndex link : failed) links.at(link) = true;
  routes.SetFailed(links);
  return PathSet(routes, source, destination).Count();
}

class FatTreePaths : public testing::TestWithParam<uint32_t> {};

TEST_P(FatTreePaths, HaveTheNumberInThePaper) {
  const uint32_t k = GetParam();
  const Fabric fabric = FatTree(k);
  Routes routes(fabric);
  const auto last = static_cast<NicIndex>(fabric.nics().size() - 1);

  EXPECT_EQ(PathSet(routes, 0, last).Count(), k * k / 4) << "between pods";
  EXPECT_EQ(PathSet(routes, 0, k / 2).Count(), k / 2) << "within a pod";
  EXPECT_EQ(PathSet(routes, 0, 1).Count(), 1u) << "on one leaf";
  EXPECT_EQ(PathSet(routes, 0, 0).Count(), 0u) << "to itself";
}

INSTANTIATE_TEST_SUITE_P(K, FatTreePaths, testing::Values(4, 8, 32));

TEST(PathSetTest, ParallelLinksMultiply) {
  const Fabric fabric = *Generate({.hosts = 4, .leaves = 2, .spines = 5, .parallel_links = 3});
  Routes routes(fabric);

  EXPECT_EQ(PathSet(routes, 0, 3).Count(), 5u * 3 * 3);
  EXPECT_EQ(PathSet(routes, 3, 0).Count(), 5u * 3 * 3);
}

TEST(PathSetTest, PathsAreDistinctAndComplete) {
  const Fabric fabric = FatTree(8);
  Routes routes(fabric);
  const NicIndex source = 5;
  const NicIndex destination = 100;
  const PathSet paths(routes, source, destination);

  std::set<std::vector<PortIndex>> seen;
  for (uint64_t i = 0; i < paths.Count(); ++i) {
    const Path path = paths.At(i);
    ASSERT_EQ(path.length, 6u);
    EXPECT_EQ(path.hops()[0], fabric.nic(source).port);
    for (size_t hop = 1; hop < path.length; ++hop) {
      EXPECT_EQ(fabric.port(path.hops()[hop]).node, fabric.PeerNode(path.hops()[hop - 1]));
    }
    EXPECT_EQ(fabric.Peer(path.hops()[5]), fabric.nic(destination).port);
    EXPECT_TRUE(seen.insert({path.hops().begin(), path.hops().end()}).second);
  }
  EXPECT_EQ(seen.size(), 16u);
}

TEST(PathSetTest, PathsAreInPortOrder) {
  const Fabric fabric = FatTree(8);
  Routes routes(fabric);
  const PathSet paths(routes, 0, 127);

  std::vector<uint32_t> before;
  for (uint64_t i = 0; i < paths.Count(); ++i) {
    std::vector<uint32_t> numbers;
    const Path path = paths.At(i);
    for (const PortIndex port : path.hops()) numbers.push_back(fabric.port(port).number);
    EXPECT_LT(before, numbers);
    before = numbers;
  }
  EXPECT_EQ(paths.At(7), PathSet(routes, 0, 127).At(7));
}

TEST(PathSetTest, FailedLinkRemovesItsPaths) {
  const Fabric fabric = FatTree(8);
  const auto between = [&](auto a, auto b) { return LinkBetween(fabric, a, b); };

  // 16 paths from host0 (leaf0, pod 0) to host127 (leaf31, pod 7): 4 spines, each with 4 cores.
  EXPECT_EQ(CountWithout(fabric, {between("spine0", "core0")}, 0, 127), 15u);
  EXPECT_EQ(CountWithout(fabric, {between("leaf0", "spine0")}, 0, 127), 12u);
  EXPECT_EQ(CountWithout(fabric, {between("spine28", "leaf31")}, 0, 127), 12u);
  EXPECT_EQ(
      CountWithout(fabric, {between("leaf0", "spine0"), between("spine29", "leaf31")}, 0, 127), 8u);
  EXPECT_EQ(CountWithout(fabric, {between("leaf1", "spine0")}, 0, 127), 16u);
  EXPECT_EQ(CountWithout(fabric, {between("host0", "leaf0")}, 0, 127), 0u);
  EXPECT_EQ(CountWithout(fabric, {between("host127", "leaf31")}, 0, 127), 0u);
  EXPECT_EQ(CountWithout(fabric,
                         {between("leaf0", "spine0"), between("leaf0", "spine1"),
                          between("leaf0", "spine2"), between("leaf0", "spine3")},
                         0, 127),
            0u);
}

TEST(PathSetTest, HealthyFatTreeBalancesEvenly) {
  const Fabric fabric = FatTree(8);
  Routes routes(fabric);
  const PathSet paths(routes, 0, 127);

  EXPECT_DOUBLE_EQ(paths.Share(LinkBetween(fabric, "host0", "leaf0")), 1);
  EXPECT_DOUBLE_EQ(paths.Share(LinkBetween(fabric, "leaf0", "spine3")), 1.0 / 4);
  EXPECT_DOUBLE_EQ(paths.Share(LinkBetween(fabric, "spine3", "core12")), 1.0 / 16);
  EXPECT_DOUBLE_EQ(paths.Share(LinkBetween(fabric, "host127", "leaf31")), 1);
  EXPECT_FALSE(paths.Contains(LinkBetween(fabric, "leaf1", "spine0")));
  // Two host links, four at each leaf, and sixteen at the cores on either side.
  EXPECT_EQ(paths.links().size(), 2u + 2 * 4 + 2 * 16);
}

TEST(PathSetTest, SwitchesBalanceByNextHopNotByPath) {
  const Fabric fabric = FatTree(4);
  Routes routes(fabric);
  std::vector<bool> failed(fabric.links().size());
  failed[LinkBetween(fabric, "spine0", "core0")] = true;
  routes.SetFailed(failed);
  const PathSet paths(routes, 0, 15);

  // Three paths, but leaf0 does not know that spine0 has half the capacity of spine1.
  EXPECT_EQ(paths.Count(), 3u);
  EXPECT_DOUBLE_EQ(paths.Share(LinkBetween(fabric, "leaf0", "spine0")), 0.5);
  EXPECT_DOUBLE_EQ(paths.Share(LinkBetween(fabric, "spine0", "core1")), 0.5);
  EXPECT_DOUBLE_EQ(paths.Share(LinkBetween(fabric, "spine1", "core2")), 0.25);
}

TEST(PathSetTest, IsUnaffectedByLaterLinkFailures) {
  const Fabric fabric = FatTree(4);
  Routes routes(fabric);
  const PathSet before(routes, 0, 15);
  routes.SetFailed(std::vector<bool>(fabric.links().size(), true));

  EXPECT_EQ(before.Count(), 4u);
  EXPECT_EQ(before.At(3).length, 6u);
  EXPECT_EQ(PathSet(routes, 0, 15).Count(), 0u);
}

// A chain of switches with `width` links between neighbours: width^4 paths.
TEST(PathSetTest, CountSaturates) {
  const uint32_t width = 1 << 16;
  Builder builder("wide");
  std::vector<NodeIndex> chain;
  for (const Tier tier : {Tier::kLeaf, Tier::kSpine, Tier::kCore, Tier::kSpine, Tier::kLeaf}) {
    chain.push_back(builder.AddNode({.name = "s" + std::to_string(chain.size()), .tier = tier}));
  }
  for (const NodeIndex leaf : {chain.front(), chain.back()}) {
    const NodeIndex host = builder.AddNode({.name = "h" + std::to_string(leaf)});
    const NicIndex nic = builder.AddNic({.host = host, .device = "mlx5_0"});
    builder.AddLink(builder.parts().nics[nic].port, builder.AddNextPort(leaf), 1, {});
  }
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    for (uint32_t n = 0; n < width; ++n) {
      const PortIndex near = builder.AddNextPort(chain[i]);
      builder.AddLink(near, builder.AddNextPort(chain[i + 1]), 1, {});
    }
  }
  const Fabric fabric = *Fabric::Make(builder.Build());
  Routes routes(fabric);

  const PathSet paths(routes, 0, 1);  // 2^64 paths

  EXPECT_EQ(paths.Count(), PathSet::kCountless);
  EXPECT_EQ(paths.At(PathSet::kCountless - 1).length, 6u);
}

TEST(PathSetTest, TwoNicsBackToBackHaveOnePath) {
  Builder builder("pair");
  for (const char* name : {"a", "b"}) {
    builder.AddNic({.host = builder.AddNode({.name = name}), .device = "mlx5_0"});
  }
  builder.AddLink(0, 1, 1, {});
  const Fabric fabric = *Fabric::Make(builder.Build());
  Routes routes(fabric);
  const PathSet paths(routes, 0, 1);

  ASSERT_EQ(paths.Count(), 1u);
  EXPECT_EQ(paths.At(0).length, 1u);
  EXPECT_TRUE(paths.Contains(0));
}

}  // namespace
}  // namespace rocescope::topology
