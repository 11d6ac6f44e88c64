// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "dataplane/port/test_port.h"
#include "tests/support/frame_mix.h"

namespace rocescope::test {
namespace {

std::vector<RawFrame> AtOneTap(const FrameMix& mix) {
  std::vector<RawFrame> frames(mix.frames().begin(), mix.frames().end());
  for (RawFrame& frame : frames) frame.tap = 0;
  return frames;
}

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FindPorts, ReportsWhatToDoWithoutPorts) {
  TestEal();
  EXPECT_THAT(FindPorts({}).error().message, HasSubstr("--vdev net_pcap0,rx_pcap=FILE"));
}

TEST(FindPorts, FindsPortsByNameAndNumber) {
  TestEal();
  const auto first = VirtualDevice::Plug("net_null1", "size=64");
  const auto second = VirtualDevice::Plug("net_null2", "size=64");
  ASSERT_TRUE(first && second);
  const uint16_t one = (*first)->port();
  const uint16_t two = (*second)->port();
  EXPECT_THAT(*FindPorts({}), ElementsAre(one, two));
  EXPECT_THAT(*FindPorts({"net_null2", std::to_string(two)}), ElementsAre(two));
  EXPECT_THAT(FindPorts({"net_null3"}).error().message,
              HasSubstr("unknown port net_null3; EAL has net_null1, net_null2"));
}

TEST(VirtualDevice, ReportsWhyItCannotStart) {
  TestEal();
  EXPECT_THAT(VirtualDevice::Plug("net_pcap7", "rx_pcap=/nonexistent").error().message,
              testing::AllOf(HasSubstr("net_pcap7"), HasSubstr("No such file")));
}

TEST(Port, DistinguishesFilesFromNetworks) {
  const TemporaryFile file(PcapOf({}));
  EXPECT_TRUE(TestPort("net_pcap8", "rx_pcap=" + file.path())->is_file());
  EXPECT_FALSE(TestPort("net_null3", "size=64")->is_file());
}

TEST(Port, RejectsFilesOfOtherLinkTypes) {
  TestEal();
  const FrameMix mix(3);
  std::vector<uint8_t> bytes = PcapOf(AtOneTap(mix));
  bytes[20] = 101;  // raw IP
  const TemporaryFile file(bytes);
  const auto device = VirtualDevice::Plug("net_pcap10", "rx_pcap=" + file.path());
  ASSERT_TRUE(device);
  EXPECT_THAT(Port::Open((*device)->port(), {}).error().message, HasSubstr("link type"));
}

TEST(Port, RestoresPromiscuousMode) {
  TestPort port("net_null10", "size=64");
  const int before = rte_eth_promiscuous_get(port->id());
  ASSERT_TRUE(port->Start());
  port->Stop();
  EXPECT_EQ(rte_eth_promiscuous_get(port->id()), before);
}

TEST(Port, ReportsLinkState) {
  TestPort port("net_null11", "size=64");
  ASSERT_TRUE(port->Start());
  EXPECT_EQ(port->GetLink(), Port::Link::kUp);
}

// net_null reports an RSS hash and stores an RSS table, but supports no flow rules.
TEST(Port, FillsRssTableRoundRobin) {
  TestPort port("net_null8", "size=64", {.lcores = 3, .steer = true});
  EXPECT_TRUE(port->spreads());
  EXPECT_EQ(port->spread_queues(), 3);
  EXPECT_EQ(port->queues(), 4);
  ASSERT_TRUE(port->Start());
  const uint16_t size = port->table_size();
  ASSERT_GE(size, RTE_ETH_RETA_GROUP_SIZE);
  std::vector<rte_eth_rss_reta_entry64> table(size / RTE_ETH_RETA_GROUP_SIZE);
  for (auto& group : table) group.mask = UINT64_MAX;
  ASSERT_EQ(rte_eth_dev_rss_reta_query(port->id(), table.data(), size), 0);
  for (uint16_t i = 0; i < size; ++i) {
    EXPECT_EQ(table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE], i % 3) << i;
  }
}

TEST(Port, ReportsNicWithoutFlowRulesAndLeavesQueueIdle) {
  TestPort port("net_null9", "size=64,copy=0", {.lcores = 2, .steer = true});
  ASSERT_TRUE(port->Start());
  EXPECT_THAT(port->remarks(),
              ElementsAre(HasSubstr("cannot steer CNPs and NAKs to a separate queue: ")));
  EXPECT_FALSE(port->IsIdle(1));
  EXPECT_TRUE(port->IsIdle(2));
  ReceiveLoop loop({.queues = {{.port = &*port, .queue = 2}},
                    .processor = {.flow_table = {.capacity = 64}, .captures = {"port"}}});
  const std::atomic<bool> never = false;
  loop.Run(never);  // would not end if it polled the queue
  EXPECT_EQ(loop.Statistics().frames.ledger.received, 0u);
  port->Stop();
  ASSERT_TRUE(port->Start());
  EXPECT_EQ(port->remarks().size(), 1u) << "reported once per start";
}

// The driver does not support frames in several mbufs. Requires CAP_NET_RAW.
TEST(Port, UsesLargerMbufsIfTheDriverRequiresThem) {
  TestEal();
  const auto device = VirtualDevice::Plug("net_af_packet0", "iface=lo,framecnt=512");
  if (!device) GTEST_SKIP() << device.error().message;
  const auto port = Port::Open((*device)->port(), {.mbufs = 4095});
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_FALSE((*port)->counts_losses());
  EXPECT_THAT((*port)->remarks(), ElementsAre(HasSubstr("at most 1500 bytes")));
}

TEST(Port, ReportsLackOfMemory) {
  TestEal();
  const auto device = VirtualDevice::Plug("net_null4", "size=64");
  ASSERT_TRUE(device);
  const auto port = Port::Open((*device)->port(), {.mbufs = 10'000'000});
  ASSERT_FALSE(port);
  EXPECT_THAT(port.error().message, HasSubstr("port net_null4: cannot allocate 10000000 mbufs"));
}

uint64_t ResidentPages() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  statm >> size >> resident;
  return resident;
}

TEST(Port, StartsAndStopsAHundredTimesWithoutALeak) {
  const FrameMix mix(500);
  std::vector<RawFrame> frames(mix.frames().begin(), mix.frames().end());
  for (RawFrame& frame : frames) frame.tap = 0;
  const TemporaryFile file(PcapOf(frames));
  [[maybe_unused]] uint64_t resident = 0;
  for (int round = 0; round < 100; ++round) {
    if (round == 10) resident = ResidentPages();
    TestPort port("net_pcap9", "rx_pcap=" + file.path(), {.mbufs = 2047});
    for (int again = 0; again < 2; ++again) {  // a port can also restart without being reopened
      ReceiveLoop loop({.queues = {{.port = &*port}},
                        .processor = {.flow_table = {.capacity = 64}, .captures = {"port"}},
                        .batch_records = 64});
      ASSERT_TRUE(port->Start());
      const std::atomic<bool> never = false;
      loop.Run(never);
      ASSERT_EQ(loop.Statistics().frames.ledger.received, 500u) << round;
      port->Stop();
      ASSERT_EQ(port->MbufsInUse(), 0u) << round;
    }
  }
#ifdef NDEBUG  // builds with sanitizers are debug builds, and there freed memory stays resident
  EXPECT_LT(ResidentPages(), resident + 1000);  // 4 MB
#endif
}

}  // namespace
}  // namespace rocescope::test
