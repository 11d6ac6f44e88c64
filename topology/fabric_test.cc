// SPDX-License-Identifier: BSD-3-Clause
#include "topology/fabric.h"

#include <gtest/gtest.h>

#include "topology/builder.h"
#include "topology/generate.h"

namespace rocescope::topology {
namespace {

// Two hosts of two tenants with the same address on one switch.
Fabric TwoTenants() {
  Builder builder("two-tenants");
  const NodeIndex leaf = builder.AddNode({.name = "leaf",
                                          .tier = Tier::kLeaf,
                                          .erspan_source = IpAddress::FromV4(0xac100001),
                                          .sflow_agent = IpAddress::FromV4(0xac100002),
                                          .int_switch_id = 77});
  for (const uint32_t tenant : {1u, 2u}) {
    const NodeIndex host = builder.AddNode({.name = "gpu-" + std::to_string(tenant)});
    const NicIndex nic = builder.AddNic(
        {.host = host,
         .device = "mlx5_0",
         .addresses = {{.segment = tenant, .address = IpAddress::FromV4(0x0a000001)}}});
    builder.AddLink(builder.parts().nics[nic].port, builder.AddNextPort(leaf), 400'000'000'000,
                    Duration(500));
    builder.AddGpu({.host = host, .number = 1, .nic = nic});
    builder.AddGpu({.host = host, .number = 0, .nic = nic});
  }
  builder.AddTap({.node = leaf, .session = 5, .direction = TapDirection::kIngress, .ports = {1}});
  builder.AddTap({.node = leaf, .session = 5, .direction = TapDirection::kEgress, .ports = {3}});
  return *Fabric::Make(builder.Build());
}

TEST(FabricTest, PortsOfANodeAreConsecutive) {
  const Fabric fabric = TwoTenants();
  const NodeIndex leaf = fabric.FindNode("leaf");

  ASSERT_EQ(fabric.PortsOf(leaf).size(), 2u);
  EXPECT_EQ(fabric.PortsOf(leaf)[0].name, "Ethernet1");
  EXPECT_EQ(fabric.PortsOf(leaf)[1].name, "Ethernet2");
  EXPECT_EQ(fabric.NameOf(fabric.tap(1).ports[0]), "leaf:Ethernet2");
}

TEST(FabricTest, LinkHasTwoEnds) {
  const Fabric fabric = TwoTenants();
  const NodeIndex host = fabric.FindNode("gpu-2");
  const PortIndex port = fabric.FindPort(host, "mlx5_0");

  ASSERT_NE(port, kNone);
  EXPECT_EQ(fabric.NameOf(fabric.Peer(port)), "leaf:Ethernet2");
  EXPECT_EQ(fabric.Peer(fabric.Peer(port)), port);
  EXPECT_EQ(fabric.PeerNode(port), fabric.FindNode("leaf"));
  EXPECT_EQ(fabric.NameOfLink(fabric.port(port).link), "gpu-2:mlx5_0-leaf:Ethernet2");
  EXPECT_EQ(fabric.nic(fabric.NicOf(port)).host, host);
  EXPECT_EQ(fabric.NicOf(fabric.Peer(port)), kNone);
}

TEST(FabricTest, SameAddressInTwoSegmentsIdentifiesTwoNics) {
  const Fabric fabric = TwoTenants();
  const IpAddress address = IpAddress::FromV4(0x0a000001);

  const NicIndex first = fabric.FindNic({.segment = 1, .address = address});
  const NicIndex second = fabric.FindNic({.segment = 2, .address = address});

  ASSERT_NE(first, kNone);
  ASSERT_NE(second, kNone);
  EXPECT_EQ(fabric.node(fabric.nic(first).host).name, "gpu-1");
  EXPECT_EQ(fabric.node(fabric.nic(second).host).name, "gpu-2");
  EXPECT_EQ(fabric.FindNic({.segment = 0, .address = address}), kNone);
}

TEST(FabricTest, SwitchIsFoundByNameAndTelemetryIds) {
  const Fabric fabric = TwoTenants();
  const NodeIndex leaf = fabric.FindNode("leaf");

  EXPECT_EQ(fabric.FindSwitchByInt(77), leaf);
  EXPECT_EQ(fabric.FindSwitchByErspan(IpAddress::FromV4(0xac100001)), leaf);
  EXPECT_EQ(fabric.FindSwitchBySflow(IpAddress::FromV4(0xac100002)), leaf);
  EXPECT_EQ(fabric.FindPortByNumber(leaf, 2), fabric.FindPort(leaf, "Ethernet2"));
}

TEST(FabricTest, LookupOfUnknownPartsReturnsNone) {
  const Fabric fabric = TwoTenants();
  const NodeIndex leaf = fabric.FindNode("leaf");

  EXPECT_EQ(fabric.FindNode("lea"), kNone);
  EXPECT_EQ(fabric.FindNode("leaf2"), kNone);
  EXPECT_EQ(fabric.FindPort(leaf, "mlx5_0"), kNone);
  EXPECT_EQ(fabric.FindPortByNumber(leaf, 3), kNone);
  EXPECT_EQ(fabric.FindSwitchByInt(kNone), kNone);
  EXPECT_EQ(fabric.FindSwitchByErspan({}), kNone);
  EXPECT_EQ(fabric.FindSwitchBySflow(IpAddress::FromV4(0xac100001)), kNone);
}

TEST(FabricTest, SessionIsFoundByDirection) {
  const Fabric fabric = TwoTenants();
  const NodeIndex leaf = fabric.FindNode("leaf");

  EXPECT_EQ(fabric.FindTap(leaf, 5, TapDirection::kIngress), 0u);
  EXPECT_EQ(fabric.FindTap(leaf, 5, TapDirection::kEgress), 1u);
  EXPECT_EQ(fabric.FindTap(leaf, 6, TapDirection::kIngress), kNone);
}

TEST(FabricTest, GpusOfAHostAreSortedByNumber) {
  const Fabric fabric = TwoTenants();
  const NodeIndex host = fabric.FindNode("gpu-1");

  ASSERT_EQ(fabric.GpusOf(host).size(), 2u);
  EXPECT_EQ(fabric.gpu(fabric.GpusOf(host)[0]).number, 0u);
  EXPECT_EQ(fabric.gpu(fabric.GpusOf(host)[1]).number, 1u);
  EXPECT_EQ(fabric.NicsOf(host).size(), 1u);
  EXPECT_TRUE(fabric.NicsOf(fabric.FindNode("leaf")).empty());
}

TEST(FabricTest, CopyHasTheSameLookups) {
  Fabric original = TwoTenants();
  const Fabric copy = original;
  original = *Generate({.shape = Shape::kStar, .hosts = 1});

  EXPECT_NE(copy.FindNode("gpu-2"), kNone);
  EXPECT_EQ(copy.FindNode("host0"), kNone);
  EXPECT_NE(original.FindNode("host0"), kNone);
}

TEST(FabricTest, EmptyFabricIsValid) {
  const auto fabric = Fabric::Make({});

  ASSERT_TRUE(fabric.has_value());
  EXPECT_EQ(fabric->FindNode("leaf0"), kNone);
}

}  // namespace
}  // namespace rocescope::topology
