// SPDX-License-Identifier: BSD-3-Clause
// The expected values are sums of header lengths from the specifications, calculated by hand.
#include "appliance/cli/plan/packet_load.h"

#include <gtest/gtest.h>

namespace rocescope::plan {
namespace {

TEST(PacketLoadTest, FramesAreAsLongAsOnTheWire) {
  EXPECT_EQ(DataFrame(1024), 1082u);  // 1086 with FCS, as in captures of RoCEv2 with MTU 1024
  EXPECT_EQ(DataFrame(4096), 4154u);
  EXPECT_EQ(kAckFrame, 62u);
  EXPECT_EQ(kMinTruncation, 70u);
}

TEST(PacketLoadTest, EachErspanTypeHasItsHeaders) {
  EXPECT_EQ(MirrorHeaders(1), 38u);  // Ethernet 14, IPv4 20, GRE 4
  EXPECT_EQ(MirrorHeaders(2), 50u);  // 4 more for the sequence, ERSPAN 8
  EXPECT_EQ(MirrorHeaders(3), 62u);  // ERSPAN 12, sub-header 8
}

TEST(PacketLoadTest, ACopyIsTruncatedAndGetsHeaders) {
  EXPECT_EQ(CopyFrame({.path_mtu = 4096, .truncation = 128, .erspan = 3}), 190u);
  EXPECT_EQ(CopyFrame({.path_mtu = 4096, .truncation = 0, .erspan = 1}), 4192u);
  EXPECT_EQ(CopyFrame({.path_mtu = 256, .truncation = 1000, .erspan = 2}), 364u);  // 314 + 50
}

// With one ACK per packet, 4154 + 24 + 62 + 24 = 4264 bytes carry two packets.
TEST(PacketLoadTest, AFullLinkCarriesDataAndAcks) {
  const Load load = TrafficAtLineRate(4264ull * 8 * 1000, {.packets_per_ack = 1});
  EXPECT_DOUBLE_EQ(load.per_second, 2000);
}

// The copies of these two packets take 62 + 128 + 24 and 62 + 62 + 24 bytes.
TEST(PacketLoadTest, CopiesTakeWhatTheirHeadersTake) {
  const Load load = CopiesAtLineRate(4264ull * 8 * 1000, {.packets_per_ack = 1});
  EXPECT_DOUBLE_EQ(load.per_second, 2000);
  EXPECT_DOUBLE_EQ(load.bits_per_second, (214 + 148) * 8 * 1000.0);
}

TEST(PacketLoadTest, SamplingThinsThemOut) {
  const PacketShape all = {};
  const PacketShape some = {.one_in = 16};
  EXPECT_DOUBLE_EQ(CopiesAtLineRate(1'000'000, some).bits_per_second * 16,
                   CopiesAtLineRate(1'000'000, all).bits_per_second);
}

TEST(PacketLoadTest, WholeCopiesOutweighTheLink) {
  const Load load = CopiesAtLineRate(1'000'000, {.truncation = 0});
  EXPECT_GT(load.bits_per_second, 1'000'000);
}

}  // namespace
}  // namespace rocescope::plan
