// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/udp_receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/udp_sender.h"

namespace rocescope::test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr IpAddress kLoopback = IpAddress::FromV4(0x7f000001);

std::unique_ptr<UdpReceiver> OpenOne(uint64_t buffer = 1u << 20) {
  return *UdpReceiver::Open({.addresses = {{.address = kLoopback}}, .buffer = buffer});
}

TEST(UdpReceiver, DeliversDatagramsWithArrivalTime) {
  const auto receiver = OpenOne();
  UdpSender sender(receiver->AddressOf(0).port);
  const auto before = std::chrono::system_clock::now();
  ASSERT_TRUE(sender.Send(std::vector<uint8_t>{1, 2, 3}));
  ASSERT_TRUE(sender.Send(std::vector<uint8_t>{}));
  ASSERT_TRUE(sender.Send(std::vector<uint8_t>(1400, 7)));
  const std::span<RawFrame> datagrams = receiver->Receive(milliseconds(5000));
  const auto after = std::chrono::system_clock::now();
  ASSERT_EQ(datagrams.size(), 3u);
  EXPECT_THAT(datagrams[0].bytes, ElementsAre(1, 2, 3));
  EXPECT_EQ(datagrams[0].original_length, 3u);
  EXPECT_GE(datagrams[0].timestamp, before);
  EXPECT_LE(datagrams[2].timestamp, after);
  EXPECT_TRUE(datagrams[1].bytes.empty());
  EXPECT_EQ(datagrams[2].bytes.size(), 1400u);
  EXPECT_THAT(receiver->sources(), ElementsAre(kLoopback, kLoopback, kLoopback));
  EXPECT_EQ(receiver->missed(), 0u);
}

TEST(UdpReceiver, TruncatesLongDatagramsAndReportsTheirLength) {
  const auto receiver = OpenOne();
  UdpSender sender(receiver->AddressOf(0).port);
  ASSERT_TRUE(sender.Send(std::vector<uint8_t>(20'000, 9)));
  const std::span<RawFrame> datagrams = receiver->Receive(milliseconds(5000));
  ASSERT_EQ(datagrams.size(), 1u);
  EXPECT_EQ(datagrams[0].bytes.size(), UdpReceiver::kLongest);
  EXPECT_EQ(datagrams[0].original_length, 20'000u);
}

TEST(UdpReceiver, NumbersSocketsAndReadsThemInTurn) {
  const auto receiver = *UdpReceiver::Open(
      {.addresses = {{.address = kLoopback}, {.address = kLoopback}}, .buffer = 1u << 22});
  ASSERT_EQ(receiver->sockets(), 2u);
  ASSERT_NE(receiver->AddressOf(0).port, receiver->AddressOf(1).port);
  UdpSender busy(receiver->AddressOf(0).port);
  UdpSender calm(receiver->AddressOf(1).port);
  for (size_t i = 0; i < 3 * UdpReceiver::kBatch; ++i) {
    ASSERT_TRUE(busy.Send(std::vector<uint8_t>{0}));
  }
  ASSERT_TRUE(calm.Send(std::vector<uint8_t>{1}));
  std::vector<uint16_t> order;
  for (int i = 0; i < 4; ++i) order.push_back(receiver->Receive(milliseconds(5000)).front().tap);
  EXPECT_THAT(order, ElementsAre(0, 1, 0, 0));
}

TEST(UdpReceiver, ReturnsNothingWithoutDatagrams) {
  EXPECT_TRUE(OpenOne()->Receive(milliseconds(0)).empty());
}

// The kernel reports the number of dropped datagrams with the next datagram that it queues.
TEST(UdpReceiver, CountsDatagramsDroppedByTheKernel) {
  const auto receiver = OpenOne(1u << 16);
  UdpSender sender(receiver->AddressOf(0).port);
  constexpr size_t kSent = 2000;
  for (size_t i = 0; i < kSent; ++i) ASSERT_TRUE(sender.Send(std::vector<uint8_t>(1000)));
  size_t received = 0;
  while (true) {
    const size_t count = receiver->Receive(milliseconds(0)).size();
    if (count == 0) break;
    received += count;
  }
  ASSERT_LT(received, kSent);
  ASSERT_TRUE(sender.Send(std::vector<uint8_t>{1}));
  ASSERT_EQ(receiver->Receive(milliseconds(5000)).size(), 1u);
  EXPECT_EQ(receiver->missed(), kSent - received);
}

TEST(UdpReceiver, ReportsAddressInUse) {
  const auto first = OpenOne();
  const UdpAddress taken = first->AddressOf(0);
  const auto second = UdpReceiver::Open({.addresses = {taken}});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message,
              HasSubstr("UDP 127.0.0.1:" + std::to_string(taken.port) +
                        ": cannot bind the socket: Address already in use: another process"));
}

TEST(UdpReceiver, ReportsForeignAddress) {
  // TEST-NET-1, which no machine has.
  const auto receiver =
      UdpReceiver::Open({.addresses = {{.address = IpAddress::FromV4(0xc0000201), .port = 6343}}});
  ASSERT_FALSE(receiver);
  EXPECT_THAT(receiver.error().message, HasSubstr("UDP 192.0.2.1:6343: cannot bind the socket"));
}

TEST(UdpReceiver, ListensOnIpv6) {
  const auto receiver = UdpReceiver::Open({.addresses = {{.address = {.low = 1}}}});
  if (!receiver) GTEST_SKIP() << receiver.error().message;
  EXPECT_NE((*receiver)->AddressOf(0).port, 0);
}

}  // namespace
}  // namespace rocescope::test
