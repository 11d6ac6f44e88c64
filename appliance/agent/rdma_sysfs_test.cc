// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/rdma_sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "appliance/agent/made_tree.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kGid = "0000:0000:0000:0000:0000:ffff:c000:020b";  // 192.0.2.11

TEST(RdmaSysfs, ReadsADevice) {
  test::MadeTree tree;
  tree.Device("mlx5_0", kGid);
  const auto devices = ReadRdmaDevices(tree.root());
  ASSERT_EQ(devices.size(), 1u);
  const RdmaDeviceState& device = devices[0];
  EXPECT_EQ(device.name, "mlx5_0");
  EXPECT_EQ(device.pci, "0000:17:00.0");
  EXPECT_EQ(device.firmware, "28.39.1002");
  EXPECT_EQ(device.board, "MT_0000000838");
  EXPECT_EQ(device.interface, "eth_mlx5_0");
  ASSERT_EQ(device.ports.size(), 1u);
  EXPECT_EQ(device.ports[0].number, 1u);
  EXPECT_EQ(device.ports[0].link_layer, "Ethernet");
  EXPECT_EQ(device.ports[0].state, "ACTIVE");
  EXPECT_EQ(device.ports[0].bits_per_second, 400'000'000'000u);
  EXPECT_THAT(device.ports[0].addresses, ElementsAre(IpAddress::FromV4(0xc000020b)))
      << "the RoCEv2 GID that is not link-local";
}

TEST(RdmaSysfs, ReadsCounters) {
  test::MadeTree tree;
  tree.Device("mlx5_0", kGid);
  EXPECT_THAT(
      ReadRdmaCounters(tree.root(), "mlx5_0", 1),
      ElementsAre(MetricValue{Metric::kRxBytes, 4000},  // counted in 4-byte words
                  MetricValue{Metric::kRxPackets, 7}, MetricValue{Metric::kLinkUp, 1},
                  MetricValue{Metric::kLinkSpeed, 400'000'000'000},
                  MetricValue{Metric::kCnpSent, 3}, MetricValue{Metric::kOutOfSequence, 5}));
}

TEST(RdmaSysfs, IsEmptyWithoutRdma) {
  test::MadeTree tree;
  EXPECT_THAT(ReadRdmaDevices(tree.root()), IsEmpty());
  EXPECT_THAT(ReadRdmaCounters(tree.root(), "mlx5_0", 1), IsEmpty());
}

TEST(RdmaSysfs, IgnoresInvalidNumbers) {
  test::MadeTree tree;
  tree.Device("mlx5_0", kGid);
  tree.File("sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", "N/A (no PMA)\n");
  tree.File("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets", "\xff\xfe\n");
  tree.File("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data",
            "99999999999999999999999\n");
  const auto values = ReadRdmaCounters(tree.root(), "mlx5_0", 1);
  EXPECT_THAT(values, ElementsAre(MetricValue{Metric::kLinkUp, 1},
                                  MetricValue{Metric::kLinkSpeed, 400'000'000'000},
                                  MetricValue{Metric::kOutOfSequence, 5}));
}

TEST(RdmaSysfs, ReadsRatesAndGids) {
  EXPECT_EQ(ParsePortRate("2.5 Gb/sec (1X SDR)"), 2'500'000'000u);
  EXPECT_EQ(ParsePortRate("100 Gb/sec (4X EDR)"), 100'000'000'000u);
  for (const char* none : {"", "fast", "-1 Gb/sec", "nan Gb/sec", "1e300 Gb/sec", "100 Mb/sec"}) {
    EXPECT_EQ(ParsePortRate(none), 0u) << none;
  }
  EXPECT_EQ(ParseGid(kGid), IpAddress::FromV4(0xc000020b));
  for (const char* none : {"", "192.0.2.1", "0000:0000:0000:0000:0000:0000:0000:0000",
                           "zzzz:0000:0000:0000:0000:ffff:c000:020b"}) {
    EXPECT_EQ(ParseGid(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace rocescope
