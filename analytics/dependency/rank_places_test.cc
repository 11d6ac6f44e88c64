// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/rank_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using topology::Fabric;
using topology::kNone;

// Two NICs and GPUs each.
Fabric FabricOf(std::vector<std::string> hosts) {
  topology::Blueprint plan{.shape = topology::Shape::kStar,
                           .hosts = static_cast<uint32_t>(hosts.size()),
                           .nics_per_host = 2};
  plan.host_names = std::move(hosts);
  return topology::Generate(plan).value();
}

JobRank On(const std::string& host) {
  JobRank rank;
  rank.host = host;
  return rank;
}

IpAddress AddressOf(const Fabric& fabric, std::string_view host, size_t nic = 0) {
  return fabric.nic(fabric.NicsOf(fabric.FindNode(host))[nic]).addresses[0].address;
}

TEST(RankPlaces, AcceptsDomainsAndUpperCase) {
  const Fabric fabric = FabricOf({"gpu-1", "gpu-2.rack1.example"});
  const RankPlaces places(fabric);
  EXPECT_EQ(places.HostOf(On("gpu-1.rack1.example")), fabric.FindNode("gpu-1"));
  EXPECT_EQ(places.HostOf(On("GPU-2")), fabric.FindNode("gpu-2.rack1.example"));
  EXPECT_EQ(places.HostOf(On("gpu-3")), kNone);
  EXPECT_EQ(places.HostOf(On("")), kNone);
}

TEST(RankPlaces, UsesTheAddressForDuplicateShortNames) {
  const Fabric fabric = FabricOf({"gpu-1.rack1.example", "gpu-1.rack2.example"});
  const RankPlaces places(fabric);
  JobRank rank = On("gpu-1");
  EXPECT_EQ(places.HostOf(rank), kNone) << "one of two";
  rank.addresses = {AddressOf(fabric, "gpu-1.rack2.example")};
  EXPECT_EQ(places.HostOf(rank), fabric.FindNode("gpu-1.rack2.example"));
  EXPECT_EQ(places.HostOf(On("gpu-1.rack1.example")), fabric.FindNode("gpu-1.rack1.example"));
}

TEST(RankPlaces, FindsANamelessHostByAddress) {
  const Fabric fabric = FabricOf({"a", "b"});
  JobRank rank = On("10.0.0.2");
  rank.addresses = {AddressOf(fabric, "b")};
  EXPECT_EQ(RankPlaces(fabric).HostOf(rank), fabric.FindNode("b"));
}

TEST(RankPlaces, ASwitchIsNoHost) {
  const Fabric fabric = FabricOf({"a"});
  EXPECT_EQ(RankPlaces(fabric).HostOf(On("leaf0")), kNone);
}

TEST(RankPlaces, FindsAGpuByPciAddressInAContainer) {
  const Fabric fabric = FabricOf({"a"});
  const auto gpus = fabric.GpusOf(fabric.FindNode("a"));
  JobRank rank = On("a");
  rank.gpu_bus_id = fabric.gpu(gpus[1]).pci;
  rank.nvml_device = 0;
  const RankPlaces places(fabric);
  EXPECT_EQ(places.GpuOf(rank, fabric.FindNode("a")), gpus[1]);
  rank.gpu_bus_id = "0000:ff:00.0";
  EXPECT_EQ(places.GpuOf(rank, fabric.FindNode("a")), kNone) << "a GPU that is not in the topology";
}

TEST(RankPlaces, UsesGpuNumbersWithoutPciAddresses) {
  Fabric::Parts parts = FabricOf({"a"}).parts();
  for (topology::Gpu& gpu : parts.gpus) gpu.pci.clear();
  const Fabric fabric = Fabric::Make(parts).value();
  JobRank rank = On("a");
  rank.gpu_bus_id = "0000:1b:00.0";
  const RankPlaces places(fabric);
  EXPECT_EQ(places.GpuOf(rank, fabric.FindNode("a")), kNone) << "no number";
  rank.nvml_device = 1;
  EXPECT_EQ(places.GpuOf(rank, fabric.FindNode("a")), fabric.GpusOf(fabric.FindNode("a"))[1]);
}

TEST(RankPlaces, FindsNicsByAddressesAndPorts) {
  const Fabric fabric = FabricOf({"a", "b"});
  const topology::NodeIndex a = fabric.FindNode("a");
  JobRank rank = On("a");
  const RankPlaces places(fabric);
  EXPECT_THAT(places.NicsOf(rank, a), IsEmpty());
  rank.addresses = {AddressOf(fabric, "a", 1), AddressOf(fabric, "b")};  // b's, in another tenant
  rank.ports = {{.device = "mlx5_1", .port = 1}};
  EXPECT_THAT(places.NicsOf(rank, a), ElementsAre(fabric.NicsOf(a)[1]));
  rank.ports = {{.device = "mlx5_0", .port = 1}, {.device = "mlx5_9", .port = 1}};
  EXPECT_THAT(places.NicsOf(rank, a), ElementsAre(fabric.NicsOf(a)[0], fabric.NicsOf(a)[1]));
}

}  // namespace
}  // namespace rocescope
