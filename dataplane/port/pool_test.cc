// SPDX-License-Identifier: BSD-3-Clause
// Behaviour when a port's pool is empty because its mbufs are in use.
#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <vector>

#include "dataplane/port/test_port.h"
#include "tests/support/frame_mix.h"

namespace rocescope::test {
namespace {

std::vector<RawFrame> AtOneTap(const FrameMix& mix) {
  std::vector<RawFrame> frames(mix.frames().begin(), mix.frames().end());
  for (RawFrame& frame : frames) frame.tap = 0;
  return frames;
}

std::vector<rte_mbuf*> HoldAllBut(Port& port, uint32_t left) {
  std::vector<rte_mbuf*> held(port.mbufs() - left);
  EXPECT_EQ(rte_pktmbuf_alloc_bulk(port.pool(), held.data(), held.size()), 0);
  return held;
}

void RunToTheEnd(ReceiveLoop& loop) {
  const std::atomic<bool> never = false;
  loop.Run(never);
}

ReceiveLoop::Options OptionsOf(Port& port) {
  return {.queues = {{.port = &port}},
          .processor = {.flow_table = {.capacity = 64}, .captures = {"port"}}};
}

TEST(EmptyPool, LossesAreCountedExactly) {
  const FrameMix mix(1000);
  const TemporaryFile file(PcapOf(AtOneTap(mix)));
  TestPort port("net_pcap20", "rx_pcap=" + file.path(), {.mbufs = 127});
  ASSERT_TRUE(port->Start());
  std::vector<rte_mbuf*> held = HoldAllBut(*port, 0);
  ReceiveLoop loop(OptionsOf(*port));
  RunToTheEnd(loop);
  EXPECT_EQ(port->Counters()->no_mbuf, 1000u);
  EXPECT_EQ(loop.Statistics().frames.ledger.received, 0u);
  rte_pktmbuf_free_bulk(held.data(), held.size());
}

TEST(EmptyPool, DeliversWithFewMbufsAndCountsLosses) {
  const FrameMix mix(1000);
  const TemporaryFile file(PcapOf(AtOneTap(mix)));
  TestPort port("net_pcap21", "rx_pcap=" + file.path(), {.mbufs = 127});
  ASSERT_TRUE(port->Start());
  std::vector<rte_mbuf*> held = HoldAllBut(*port, 40);
  ReceiveLoop loop(OptionsOf(*port));
  RunToTheEnd(loop);
  const PortCounters counters = port->Counters().value();
  EXPECT_EQ(loop.Statistics().frames.ledger.received, counters.delivered);
  EXPECT_EQ(counters.delivered + counters.no_mbuf, 1000u);
  EXPECT_GT(counters.delivered, 0u);
  rte_pktmbuf_free_bulk(held.data(), held.size());
}

}  // namespace
}  // namespace rocescope::test
