// SPDX-License-Identifier: BSD-3-Clause
// The expected values are closed forms of the shapes.
#include "topology/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rocescope::topology {
namespace {

size_t Count(const Fabric& fabric, Tier tier) {
  return std::count_if(fabric.nodes().begin(), fabric.nodes().end(),
                       [tier](const Node& node) { return node.tier == tier; });
}

// Returns the name of the leaf that NIC n of a host is connected to.
std::string LeafOf(const Fabric& fabric, std::string_view host, uint32_t n) {
  const NicIndex nic = fabric.NicsOf(fabric.FindNode(host))[n];
  return fabric.node(fabric.PeerNode(fabric.nic(nic).port)).name;
}

TEST(GenerateTest, StarHasOneSwitch) {
  const auto fabric = Generate({.shape = Shape::kStar, .hosts = 16});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(fabric->nodes().size(), 17u);
  EXPECT_EQ(fabric->links().size(), 16u);
  EXPECT_EQ(fabric->PortsOf(fabric->FindNode("leaf0")).size(), 16u);
  EXPECT_EQ(fabric->NameOf(fabric->Peer(fabric->nic(6).port)), "leaf0:Ethernet7");
}

TEST(GenerateTest, LeafSpineIsFullyMeshed) {
  const auto fabric = Generate({.hosts = 128,
                                .leaves = 8,
                                .spines = 16,
                                .parallel_links = 2,
                                .host_bits_per_second = 200'000'000'000,
                                .fabric_bits_per_second = 400'000'000'000,
                                .fabric_delay = Duration(600)});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(Count(*fabric, Tier::kHost), 128u);
  EXPECT_EQ(fabric->links().size(), 128u + 8 * 16 * 2);
  for (const Node& node : fabric->nodes()) {
    const uint32_t expected = node.tier == Tier::kLeaf ? 128 / 8 + 16 * 2 : 8 * 2;
    EXPECT_EQ(node.port_count, node.IsSwitch() ? expected : 1) << node.name;
  }
  EXPECT_EQ(fabric->link(0).bits_per_second, 200'000'000'000u);
  EXPECT_EQ(fabric->links().back().bits_per_second, 400'000'000'000u);
  EXPECT_EQ(fabric->links().back().delay, Duration(600));
  EXPECT_EQ(LeafOf(*fabric, "host15", 0), "leaf0");
  EXPECT_EQ(LeafOf(*fabric, "host16", 0), "leaf1");
}

class FatTree : public testing::TestWithParam<uint32_t> {};

TEST_P(FatTree, HasTheNumbersOfThePaper) {
  const uint32_t k = GetParam();
  const auto fabric = Generate({.shape = Shape::kFatTree, .k = k});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(Count(*fabric, Tier::kHost), k * k * k / 4);
  EXPECT_EQ(Count(*fabric, Tier::kLeaf), k * k / 2);
  EXPECT_EQ(Count(*fabric, Tier::kSpine), k * k / 2);
  EXPECT_EQ(Count(*fabric, Tier::kCore), k * k / 4);
  EXPECT_EQ(fabric->links().size(), 3u * k * k * k / 4);
  for (NodeIndex i = 0; i < fabric->nodes().size(); ++i) {
    const Node& node = fabric->node(i);
    EXPECT_EQ(node.port_count, node.IsSwitch() ? k : 1) << node.name;
    if (node.tier != Tier::kCore) continue;
    std::set<uint32_t> pods;
    for (PortIndex p = node.first_port; p < node.first_port + node.port_count; ++p) {
      pods.insert(fabric->node(fabric->PeerNode(p)).pod);
    }
    EXPECT_EQ(pods.size(), k) << node.name << " has a link to each pod";
  }
}

INSTANTIATE_TEST_SUITE_P(K, FatTree, testing::Values(2, 4, 8, 16));

TEST(GenerateTest, PartlyFilledFatTreeHasAllSwitches) {
  const auto fabric = Generate({.shape = Shape::kFatTree, .hosts = 5, .k = 4});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(Count(*fabric, Tier::kHost), 5u);
  EXPECT_EQ(Count(*fabric, Tier::kLeaf), 8u);
  EXPECT_EQ(LeafOf(*fabric, "host4", 0), "leaf2");
}

TEST(GenerateTest, InRacksAllNicsOfAHostConnectToOneLeaf) {
  const auto fabric = Generate({.hosts = 8, .nics_per_host = 4, .leaves = 4, .spines = 2});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  for (uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(LeafOf(*fabric, "host0", n), "leaf0");
    EXPECT_EQ(LeafOf(*fabric, "host7", n), "leaf3");
  }
}

TEST(GenerateTest, RailOptimisedLeafHasOneRail) {
  const auto fabric =
      Generate({.hosts = 8, .nics_per_host = 4, .rail_optimised = true, .leaves = 8, .spines = 2});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  for (uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(LeafOf(*fabric, "host0", n), "leaf" + std::to_string(n));
    EXPECT_EQ(LeafOf(*fabric, "host3", n), "leaf" + std::to_string(n));
    EXPECT_EQ(LeafOf(*fabric, "host4", n), "leaf" + std::to_string(4 + n));
  }
  for (const Nic& nic : fabric->nics()) EXPECT_EQ(nic.device, "mlx5_" + std::to_string(nic.rail));
}

TEST(GenerateTest, RailOptimisedFatTreeKeepsAHostInOnePod) {
  const auto fabric =
      Generate({.shape = Shape::kFatTree, .nics_per_host = 4, .rail_optimised = true, .k = 8});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(Count(*fabric, Tier::kHost), 8u * 8 * 8 / 4 / 4);
  for (const Node& node : fabric->nodes()) {
    EXPECT_EQ(node.port_count, node.IsSwitch() ? 8u : 4u) << node.name;
  }
  EXPECT_EQ(LeafOf(*fabric, "host3", 3), "leaf3");
  EXPECT_EQ(LeafOf(*fabric, "host4", 3), "leaf7");
  EXPECT_EQ(fabric->node(fabric->FindNode("leaf7")).pod, 1u);
}

TEST(GenerateTest, GpuHasTheRailOfItsNearestNic) {
  const auto fabric =
      Generate({.shape = Shape::kStar, .hosts = 1, .nics_per_host = 4, .gpus_per_host = 8});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  ASSERT_EQ(fabric->gpus().size(), 8u);
  for (const Gpu& gpu : fabric->gpus()) {
    EXPECT_EQ(gpu.rail, gpu.number / 2);
    EXPECT_EQ(fabric->nic(gpu.nic).rail, gpu.rail);
  }
}

TEST(GenerateTest, EverySwitchHasTelemetryIds) {
  const auto fabric = Generate({.hosts = 2, .leaves = 2, .spines = 2});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(fabric->FindSwitchByInt(3), fabric->FindNode("spine0"));
  EXPECT_EQ(fabric->FindSwitchBySflow(IpAddress::FromV4(0xac100004)), fabric->FindNode("spine1"));
  EXPECT_EQ(fabric->FindNic({.address = IpAddress::FromV4(0x0a000002)}), 1u);
}

TEST(GenerateTest, LargestFabricHasAnAddressForEachNic) {
  const auto fabric = Generate({.hosts = 65'536, .nics_per_host = 2, .leaves = 512, .spines = 1});

  ASSERT_TRUE(fabric.has_value()) << fabric.error().message;
  EXPECT_EQ(ToString(fabric->nics()[2 * 65'535].addresses[0].address), "10.1.0.0");
  EXPECT_EQ(ToString(fabric->nics()[1].addresses[0].address), "10.1.0.1");
  EXPECT_FALSE(Generate({.shape = Shape::kFatTree, .k = 66}).has_value());
}

class Misfit : public testing::TestWithParam<std::pair<Blueprint, const char*>> {};

TEST_P(Misfit, IsRejectedNamingTheNumber) {
  const auto fabric = Generate(GetParam().first);

  ASSERT_FALSE(fabric.has_value());
  EXPECT_EQ(fabric.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(fabric.error().message.find(GetParam().second), std::string::npos)
      << fabric.error().message;
}

constexpr Shape kTree = Shape::kFatTree;
constexpr uint32_t kHuge = 4'294'967'295u;

INSTANTIATE_TEST_SUITE_P(
    Numbers, Misfit,
    testing::Values(
        std::pair(Blueprint{.shape = Shape::kStar}, "number of hosts is missing"),
        std::pair(Blueprint{.shape = Shape::kStar, .hosts = 1, .nics_per_host = 0}, "0 NICs"),
        std::pair(Blueprint{.shape = Shape::kStar, .hosts = kHuge}, "4294967295 hosts"),
        std::pair(Blueprint{.hosts = 4, .leaves = 2}, "one spine"),
        std::pair(Blueprint{.hosts = 4, .leaves = kHuge, .spines = kHuge}, "too many"),
        std::pair(Blueprint{.hosts = 4, .leaves = 65'535, .spines = 1024, .parallel_links = 1024},
                  "ports are too many"),
        std::pair(
            Blueprint{
                .hosts = 4, .nics_per_host = 4, .rail_optimised = true, .leaves = 6, .spines = 2},
            "6 leaves cannot be divided evenly among 4 rails"),
        std::pair(
            Blueprint{
                .hosts = 4, .nics_per_host = 4, .rail_optimised = true, .leaves = 2, .spines = 2},
            "2 leaves cannot be divided"),
        std::pair(Blueprint{.shape = kTree, .k = 5}, "k is 5"),
        std::pair(Blueprint{.shape = kTree, .k = 0}, "k is 0"),
        std::pair(Blueprint{.shape = kTree, .k = kHuge - 1}, "k is 4294967294"),
        std::pair(Blueprint{.shape = kTree, .hosts = 17, .k = 4}, "at most 16 hosts"),
        std::pair(Blueprint{.shape = kTree, .nics_per_host = 3, .k = 4}, "3 NICs"),
        std::pair(Blueprint{.shape = kTree, .gpus_per_host = 65, .k = 4}, "65 GPUs"),
        std::pair(Blueprint{.hosts = 4, .leaves = 2, .spines = 2, .host_bits_per_second = 0},
                  "0 bit/s")));

}  // namespace
}  // namespace rocescope::topology
