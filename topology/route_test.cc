// SPDX-License-Identifier: BSD-3-Clause
#include "topology/route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <random>
#include <string>

#include "topology/generate.h"

namespace rocescope::topology {
namespace {

Fabric FatTree(uint32_t k) { return *Generate({.shape = Shape::kFatTree, .k = k}); }
Fabric LeafSpine() { return *Generate({.hosts = 8, .leaves = 4, .spines = 3}); }

std::vector<std::string> Names(const Fabric& fabric, std::span<const PortIndex> ports) {
  std::vector<std::string> names;
  for (const PortIndex port : ports) {
    names.push_back(fabric.node(fabric.PeerNode(port)).name);
  }
  return names;
}

LinkIndex LinkBetween(const Fabric& fabric, std::string_view a, std::string_view b) {
  for (LinkIndex i = 0; i < fabric.links().size(); ++i) {
    const auto end = [&](int n) {
      return fabric.node(fabric.port(fabric.link(i).ends[n]).node).name;
    };
    if ((end(0) == a && end(1) == b) || (end(0) == b && end(1) == a)) return i;
  }
  return kNone;
}

std::vector<bool> Failed(const Fabric& fabric, std::initializer_list<LinkIndex> links) {
  std::vector<bool> failed(fabric.links().size());
  for (const LinkIndex link : links) failed.at(link) = true;
  return failed;
}

using Words = std::vector<std::string>;

TEST(RoutesTest, LeafBalancesOverAllSpinesInPortOrder) {
  const Fabric fabric = LeafSpine();
  Routes routes(fabric);

  // Hosts 6 and 7 are connected to leaf3.
  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("leaf0"), 7)),
            (Words{"spine0", "spine1", "spine2"}));
  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("spine1"), 7)), Words{"leaf3"});
  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("leaf3"), 7)), Words{"host7"});
  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("leaf3"), 6)), Words{"host6"});
}

TEST(RoutesTest, NextHopsAreSortedByPortNumber) {
  Fabric::Parts parts = LeafSpine().parts();
  const Node& leaf = parts.nodes[0];
  for (uint32_t i = 0; i < leaf.port_count; ++i) parts.ports[leaf.first_port + i].number = 99 - i;
  const Fabric fabric = *Fabric::Make(parts);
  Routes routes(fabric);

  EXPECT_EQ(Names(fabric, routes.NextHops(0, 7)), (Words{"spine2", "spine1", "spine0"}));
}

TEST(RoutesTest, AllParallelLinksAreUsed) {
  const Fabric fabric = *Generate({.hosts = 2, .leaves = 2, .spines = 2, .parallel_links = 3});
  Routes routes(fabric);

  EXPECT_EQ(routes.NextHops(fabric.FindNode("leaf0"), 1).size(), 6u);
  EXPECT_EQ(routes.NextHops(fabric.FindNode("spine0"), 1).size(), 3u);
}

TEST(RoutesTest, TrafficWithinAPodStaysInThePod) {
  const Fabric fabric = FatTree(4);
  Routes routes(fabric);

  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("leaf0"), 2)),
            (Words{"spine0", "spine1"}));
  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("spine1"), 2)), Words{"leaf1"});
  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("spine1"), 15)),
            (Words{"core2", "core3"}));
  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("core3"), 15)), Words{"spine7"});
}

TEST(RoutesTest, FailedLinkIsAvoided) {
  const Fabric fabric = LeafSpine();
  Routes routes(fabric);
  routes.SetFailed(Failed(fabric, {LinkBetween(fabric, "spine1", "leaf3")}));

  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("leaf0"), 7)),
            (Words{"spine0", "spine2"}));
  EXPECT_EQ(routes.NextHops(fabric.FindNode("leaf0"), 5).size(), 3u);
  // The path would go up again through another leaf: a valley.
  EXPECT_TRUE(routes.NextHops(fabric.FindNode("spine1"), 7).empty());
  EXPECT_EQ(routes.Distance(fabric.FindNode("spine1"), 7), kNone);

  routes.SetFailed({});
  EXPECT_EQ(routes.NextHops(fabric.FindNode("leaf0"), 7).size(), 3u);
}

TEST(RoutesTest, FailedHostLinkAffectsItsLeafOnly) {
  const Fabric fabric = LeafSpine();
  Routes routes(fabric);
  routes.SetFailed(Failed(fabric, {LinkBetween(fabric, "host7", "leaf3")}));

  EXPECT_EQ(routes.NextHops(fabric.FindNode("leaf0"), 7).size(), 3u);
  EXPECT_TRUE(routes.NextHops(fabric.FindNode("leaf3"), 7).empty());
  EXPECT_EQ(routes.NextHops(fabric.FindNode("leaf3"), 6).size(), 1u);
}

TEST(RoutesTest, IsolatedLeafIsUnreachable) {
  const Fabric fabric = LeafSpine();
  Routes routes(fabric);
  routes.SetFailed(Failed(
      fabric, {LinkBetween(fabric, "spine0", "leaf3"), LinkBetween(fabric, "spine1", "leaf3"),
               LinkBetween(fabric, "spine2", "leaf3")}));

  EXPECT_TRUE(routes.NextHops(fabric.FindNode("leaf0"), 7).empty());
  EXPECT_EQ(Names(fabric, routes.NextHops(fabric.FindNode("leaf3"), 7)), Words{"host7"});
}

TEST(RoutesTest, UnconnectedNicIsUnreachable) {
  Fabric::Parts parts = LeafSpine().parts();
  for (const PortIndex end : parts.links.back().ends) parts.ports[end].link = kNone;
  const PortIndex nic = parts.nics[7].port;
  const LinkIndex cable = parts.ports[nic].link;
  parts.ports[parts.links[cable].Opposite(nic)].link = kNone;
  parts.ports[nic].link = kNone;
  // The last link, disconnected as well, takes the index of the removed one.
  parts.links.pop_back();
  parts.links.erase(parts.links.begin() + cable);
  for (Port& port : parts.ports) {
    if (port.link != kNone && port.link > cable) --port.link;
  }
  const Fabric fabric = *Fabric::Make(parts);
  Routes routes(fabric);

  EXPECT_EQ(routes.EdgeOf(7), kNone);
  EXPECT_TRUE(routes.NextHops(fabric.FindNode("leaf0"), 7).empty());
}

// Returns the number of hops between switches over any path, including valleys. Without failures,
// routes never need more than this minimum.
uint32_t PlainDistance(const Fabric& fabric, NodeIndex from, NodeIndex to) {
  std::vector<uint32_t> distance(fabric.nodes().size(), kNone);
  std::queue<NodeIndex> queue({from});
  distance[from] = 0;
  while (!queue.empty()) {
    const NodeIndex at = queue.front();
    queue.pop();
    for (uint32_t i = 0; i < fabric.node(at).port_count; ++i) {
      const NodeIndex peer = fabric.PeerNode(fabric.node(at).first_port + i);
      if (peer == kNone || !fabric.node(peer).IsSwitch() || distance[peer] != kNone) continue;
      distance[peer] = distance[at] + 1;
      queue.push(peer);
    }
  }
  return distance[to];
}

TEST(RoutesTest, WithoutFailuresAllPathsAreShortest) {
  const Fabric fabric = FatTree(4);
  Routes routes(fabric);
  for (NodeIndex at = 0; at < fabric.nodes().size(); ++at) {
    if (!fabric.node(at).IsSwitch()) continue;
    for (NicIndex nic = 0; nic < fabric.nics().size(); ++nic) {
      const uint32_t shortest = PlainDistance(fabric, at, routes.EdgeOf(nic));
      EXPECT_EQ(routes.Distance(at, nic), shortest);
      // All neighbours that are one hop closer, and no others.
      size_t nearer = 0;
      for (uint32_t i = 0; i < fabric.node(at).port_count; ++i) {
        const NodeIndex peer = fabric.PeerNode(fabric.node(at).first_port + i);
        nearer += fabric.node(peer).IsSwitch() &&
                  PlainDistance(fabric, peer, routes.EdgeOf(nic)) + 1 == shortest;
      }
      EXPECT_EQ(routes.NextHops(at, nic).size(), at == routes.EdgeOf(nic) ? 1 : nearer);
    }
  }
}

// Returns whether `to` is reachable from `at` without a valley, by exhaustive search.
bool Reachable(const Fabric& fabric, const Routes& routes, NodeIndex at, NodeIndex to,
               bool may_go_up) {
  if (at == to) return true;
  for (uint32_t i = 0; i < fabric.node(at).port_count; ++i) {
    const PortIndex port = fabric.node(at).first_port + i;
    const NodeIndex peer = fabric.PeerNode(port);
    if (peer == kNone || !fabric.node(peer).IsSwitch() || routes.Failed(fabric.port(port).link)) {
      continue;
    }
    const bool up = fabric.node(peer).tier > fabric.node(at).tier;
    if (up && !may_go_up) continue;
    if (Reachable(fabric, routes, peer, to, up)) return true;
  }
  return false;
}

// Follows every next hop; fails on a valley or a loop.
void ExpectGoesUpThenDown(const Fabric& fabric, Routes& routes, NodeIndex at, NicIndex nic,
                          bool has_gone_down, int hops) {
  ASSERT_LT(hops, 6);
  if (at == routes.EdgeOf(nic)) return;
  const auto next = routes.NextHops(at, nic);
  ASSERT_FALSE(next.empty()) << "a next hop of " << fabric.node(at).name << " leads nowhere";
  for (const PortIndex port : next) {
    EXPECT_FALSE(routes.Failed(fabric.port(port).link));
    const NodeIndex peer = fabric.PeerNode(port);
    const bool down = fabric.node(peer).tier < fabric.node(at).tier;
    EXPECT_TRUE(down || !has_gone_down);
    ExpectGoesUpThenDown(fabric, routes, peer, nic, down, hops + 1);
  }
}

TEST(RoutesTest, WithAnyFailuresAPathExistsIfOneWithoutAValleyExists) {
  const Fabric fabric = FatTree(4);
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    Routes routes(fabric);
    std::vector<bool> failed(fabric.links().size());
    for (auto link : failed) link = random() % 100 < static_cast<unsigned>(round);
    routes.SetFailed(failed);
    for (NodeIndex at = 0; at < fabric.nodes().size(); ++at) {
      if (!fabric.node(at).IsSwitch()) continue;
      for (NicIndex nic = 0; nic < fabric.nics().size(); nic += 3) {
        if (at == routes.EdgeOf(nic)) continue;
        const bool way = !routes.NextHops(at, nic).empty();
        EXPECT_EQ(way, Reachable(fabric, routes, at, routes.EdgeOf(nic), true));
        if (way) ExpectGoesUpThenDown(fabric, routes, at, nic, false, 0);
      }
    }
  }
}

}  // namespace
}  // namespace rocescope::topology
