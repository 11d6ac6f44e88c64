// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/live/udp_loop.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/frame_builder.h"
#include "tests/support/udp_sender.h"

namespace rocescope::test {
namespace {

constexpr IpAddress kLoopback = IpAddress::FromV4(0x7f000001);

// Version 5, agent 192.0.2.1, no samples.
const Bytes kSflow = {0, 0, 0, 5, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0,
                      0, 0, 0, 0, 0, 9, 0, 0, 0,   0, 0, 0, 0, 0};
// A report of node 7 without metadata and packet.
const Bytes kReport = {0x20, 0, 0, 1, 0, 0, 0, 7, 0x10, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

TEST(UdpLoop, ReceivesEachKindOnItsSocketUntilStopped) {
  const auto loop = *UdpLoop::Open({.int_reports = {{.address = kLoopback}},
                                    .sflow = {{.address = kLoopback}},
                                    .processor = {.captures = {"eth1", "udp int", "udp sflow"}},
                                    .first_tap = 1});
  UdpSender reports(loop->receiver().AddressOf(0).port);
  UdpSender sflow(loop->receiver().AddressOf(1).port);
  ASSERT_TRUE(reports.Send(kReport));
  ASSERT_TRUE(sflow.Send(kSflow));
  ASSERT_TRUE(sflow.Send(kReport));  // not an sFlow datagram
  std::atomic<bool> stop = true;     // datagrams that have arrived by then are processed
  loop->Run(stop);
  const FrameProcessor::Counters counters = loop->worker().Statistics().frames;
  EXPECT_TRUE(counters.ledger.Balances());
  EXPECT_EQ(counters.ledger.received, 3u);
  EXPECT_EQ(counters.ledger.decoded, 2u);
  EXPECT_EQ(counters.ledger.dropped[static_cast<size_t>(DropReason::kBadSflow)], 1u);
  EXPECT_EQ(counters.int_frames, 1u);
  EXPECT_EQ(counters.sflow_frames, 2u);
  EXPECT_EQ(counters.telemetry.int_reports.decoded, 1u);
  EXPECT_EQ(counters.telemetry.sflow_datagrams.received, 2u);
  EXPECT_EQ(counters.telemetry.sflow_datagrams.decoded, 1u);
  const std::vector<TelemetrySource> sources = loop->worker().processor().telemetry().Sources();
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].tap, 1u);
  EXPECT_EQ(sources[0].node_id, 7u);
  EXPECT_EQ(sources[1].tap, 2u);
  EXPECT_EQ(sources[1].agent, IpAddress::FromV4(0xc0000201));
}

TEST(UdpLoop, ChecksTheSourceAddressOfEachDatagram) {
  auto check = std::make_shared<SenderCheck>();
  check->AllowSources({.address = IpAddress::FromV4(0xc0000201)});
  const auto loop =
      *UdpLoop::Open({.sflow = {{.address = kLoopback}},
                      .processor = {.telemetry_senders = check, .captures = {"udp"}}});
  UdpSender sender(loop->receiver().AddressOf(0).port);
  ASSERT_TRUE(sender.Send(kSflow));
  std::atomic<bool> stop = true;
  loop->Run(stop);
  const Ledger ledger = loop->worker().Statistics().frames.ledger;
  EXPECT_EQ(ledger.dropped[static_cast<size_t>(DropReason::kUnknownSender)], 1u);
  EXPECT_EQ(loop->worker().processor().telemetry().Refused().at(0).source, kLoopback);
}

TEST(UdpLoop, PublishesCountersWhileRunning) {
  const auto loop =
      *UdpLoop::Open({.sflow = {{.address = kLoopback}}, .processor = {.captures = {"udp"}}});
  std::atomic<bool> stop = false;
  std::thread thread([&] { loop->Run(stop); });
  UdpSender sender(loop->receiver().AddressOf(0).port);
  EXPECT_TRUE(sender.Send(kSflow));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (loop->worker().Statistics().frames.ledger.received == 0 &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(loop->worker().Statistics().frames.ledger.received, 1u);
  stop = true;
  thread.join();
}

}  // namespace
}  // namespace rocescope::test
