// SPDX-License-Identifier: BSD-3-Clause
#include "topology/check.h"

#include <gtest/gtest.h>

#include <functional>

#include "topology/generate.h"

namespace rocescope::topology {
namespace {

using Parts = Fabric::Parts;

// Two hosts with two NICs and GPUs on one leaf, and a mirror session on the leaf's ports. leaf0 is
// node 0, host0 and host1 are nodes 1 and 2. Ports 0 to 3 belong to the leaf, 4 and 5 to host0, 6
// and 7 to host1.
Parts ValidParts() {
  Parts parts = *GenerateParts({.shape = Shape::kStar, .hosts = 2, .nics_per_host = 2});
  parts.taps.push_back({.node = 0, .session = 1, .ports = {0, 1}});
  return parts;
}

TEST(CheckTest, ValidFabricHasNoFault) { EXPECT_FALSE(FindFault(ValidParts()).has_value()); }

struct Damage {
  const char* name;
  std::function<void(Parts&)> break_it;
  PartKind kind;
  uint32_t index;
  const char* says;
};

class BrokenFabric : public testing::TestWithParam<Damage> {};

TEST_P(BrokenFabric, IsToldByPart) {
  Parts parts = ValidParts();
  GetParam().break_it(parts);

  const auto fault = FindFault(parts);

  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, GetParam().kind);
  EXPECT_EQ(fault->index, GetParam().index);
  EXPECT_NE(fault->message.find(GetParam().says), std::string::npos) << fault->message;
  EXPECT_FALSE(Fabric::Make(parts).has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Parts, BrokenFabric,
    testing::Values(
        Damage{"NodeNameTwice", [](Parts& p) { p.nodes[2].name = "host0"; }, PartKind::kNode, 2,
               "two nodes named host0"},
        Damage{"NodeNameWithColon", [](Parts& p) { p.nodes[1].name = "a:b"; }, PartKind::kNode, 1,
               "is not a valid node name"},
        Damage{"NodeWithoutName", [](Parts& p) { p.nodes[1].name.clear(); }, PartKind::kNode, 1,
               "is not a valid node name"},
        Damage{"HostWithAgent", [](Parts& p) { p.nodes[1].sflow_agent = IpAddress::FromV4(1); },
               PartKind::kNode, 1, "is a host"},
        Damage{"PortsOverlap", [](Parts& p) { p.nodes[1].first_port = 3; }, PartKind::kNode, 1,
               "do not follow those"},
        Damage{"PortOfNobody", [](Parts& p) { p.nodes[2].port_count = 1; }, PartKind::kPort, 7,
               "no node"},
        Damage{"PortNameTwice", [](Parts& p) { p.ports[1].name = "Ethernet1"; }, PartKind::kPort, 1,
               "leaf0 has two ports named Ethernet1"},
        Damage{"PortNumberTwice", [](Parts& p) { p.ports[1].number = 1; }, PartKind::kPort, 1,
               "same number, 1"},
        Damage{"PortNameWithControl", [](Parts& p) { p.ports[1].name = "a\x1b"; }, PartKind::kPort,
               1, "is not a valid port name"},
        Damage{"PortOfAnotherNode", [](Parts& p) { p.ports[1].node = 1; }, PartKind::kPort, 1,
               "belongs to another node"},
        Damage{"LinkThatIsNotThere", [](Parts& p) { p.ports[0].link = 99; }, PartKind::kPort, 0,
               "does not end there"},
        Damage{"LinkWithOneEnd", [](Parts& p) { p.links[3].ends[1] = kNone; }, PartKind::kPort, 3,
               "does not end there"},
        Damage{"PortOnTwoLinks",
               [](Parts& p) {
                 p.links[3].ends[1] = p.links[0].ends[1];
                 p.ports[3].link = kNone;
               },
               PartKind::kLink, 3, "two links"},
        Damage{"LinkToItself",
               [](Parts& p) {
                 p.links.push_back(
                     {.ends = {p.links[0].ends[1], p.links[1].ends[1]}, .bits_per_second = 1});
                 p.ports[0].link = p.ports[1].link = 4;
                 p.links[0].ends = {4, 6};
                 p.links[1].ends = {5, 7};
                 p.ports[6].link = 0;
                 p.ports[7].link = 1;
                 p.links.erase(p.links.begin() + 2, p.links.begin() + 4);
                 p.ports[0].link = p.ports[1].link = 2;
                 p.ports[2].link = p.ports[3].link = kNone;
               },
               PartKind::kLink, 2, "leaf0 to itself"},
        Damage{"LinkWithoutSpeed", [](Parts& p) { p.links[1].bits_per_second = 0; },
               PartKind::kLink, 1, "0 bit/s"},
        Damage{"LinkFromTheFuture", [](Parts& p) { p.links[1].delay = Duration(-1); },
               PartKind::kLink, 1, "delay of -1 ns"},
        Damage{"NicWithoutHost", [](Parts& p) { p.nics[2].host = 0; }, PartKind::kNic, 2,
               "has no host"},
        Damage{"NicAtAnothersPort", [](Parts& p) { p.nics[2].port = 4; }, PartKind::kNic, 2,
               "no port of its own"},
        Damage{"PortWithoutNic", [](Parts& p) { p.nics.pop_back(); }, PartKind::kPort, 7,
               "without a NIC"},
        Damage{"DeviceTwice", [](Parts& p) { p.nics[3].device = "mlx5_0"; }, PartKind::kNic, 3,
               "host1 has two NICs named mlx5_0"},
        Damage{"AddressTwice", [](Parts& p) { p.nics[3].addresses = p.nics[0].addresses; },
               PartKind::kNic, 3, "host0:mlx5_0 and host1:mlx5_1 have the same address, 10.0.0.1"},
        Damage{"NoAddress", [](Parts& p) { p.nics[3].addresses[0].address = {}; }, PartKind::kNic,
               3, "unspecified"},
        Damage{"GpuWithAnothersNic", [](Parts& p) { p.gpus[0].nic = 2; }, PartKind::kGpu, 0,
               "a NIC that this host does not have"},
        Damage{"GpuNumberTwice", [](Parts& p) { p.gpus[1].number = 0; }, PartKind::kGpu, 1,
               "two GPUs with the number 0"},
        Damage{"GpuPciTwice", [](Parts& p) { p.gpus[1].pci = p.gpus[0].pci; }, PartKind::kGpu, 1,
               "two GPUs with the PCI address"},
        Damage{"TapOnAHost", [](Parts& p) { p.taps[0].node = 1; }, PartKind::kTap, 0, "a switch"},
        Damage{"TapBeyondTenBits", [](Parts& p) { p.taps[0].session = 1024; }, PartKind::kTap, 0,
               "0 to 1023"},
        Damage{"TapOnAnothersPort", [](Parts& p) { p.taps[0].ports = {0, 4}; }, PartKind::kTap, 0,
               "port that this switch does not have"},
        Damage{"TapOfNothing", [](Parts& p) { p.taps[0].ports.clear(); }, PartKind::kTap, 0,
               "no ports"},
        Damage{"TapPortTwice", [](Parts& p) { p.taps[0].ports = {1, 1}; }, PartKind::kTap, 0,
               "Ethernet2 twice"},
        Damage{"TapTwice", [](Parts& p) { p.taps.push_back(p.taps[0]); }, PartKind::kTap, 1,
               "two mirror sessions 1"}),
    [](const auto& damage) { return damage.param.name; });

TEST(CheckTest, SessionMayExistOncePerDirection) {
  Parts parts = ValidParts();
  parts.taps.push_back(parts.taps[0]);
  parts.taps[1].direction = TapDirection::kEgress;
  EXPECT_FALSE(FindFault(parts).has_value());

  parts.taps[1].direction = TapDirection::kBoth;
  EXPECT_TRUE(FindFault(parts).has_value());
}

TEST(CheckTest, PortNamesOfAllVendorsAreValid) {
  for (const char* name :
       {"Ethernet1/1", "et-0/0/0:1", "swp1s0", "ethernet 1/1/1", "mlx5_0", "e1-1"}) {
    EXPECT_TRUE(IsPortName(name)) << name;
  }
  for (const char* name : {"", " Ethernet1", "Ethernet1 ", "a\"b", "a\nb"}) {
    EXPECT_FALSE(IsPortName(name)) << name;
  }
}

}  // namespace
}  // namespace rocescope::topology
