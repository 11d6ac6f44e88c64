// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/packet.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "dataplane/wire/opcode.h"

namespace rocescope::endpoint {
namespace {

constexpr uint32_t kSource = 0x0a000001;
constexpr uint32_t kDestination = 0x0a000002;
constexpr Route kRoute{.source = kSource, .destination = kDestination, .udp_source_port = 0xc123};
constexpr size_t kTosAt = 15;

std::vector<uint8_t> Frame(const Packet& packet) {
  std::array<uint8_t, kLongestFrame> room{};
  const size_t length = WriteFrame(packet, kRoute, room);
  return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(length)};
}

Reception Read(const std::vector<uint8_t>& frame, ReceivedPacket& out) {
  return ReadFrame(frame, kDestination, out);
}

Packet WriteOnly(std::span<const uint8_t> payload) {
  return {.opcode = wire::kOpcodeWriteOnlyImmediate,
          .destination = Qpn{0xabcdef},
          .psn = 0xfedcba,
          .ack_request = true,
          .reth = {.virtual_address = 0x7f00'1234'5678,
                   .rkey = 99,
                   .dma_length = static_cast<uint32_t>(payload.size())},
          .immediate = 4711,
          .payload = payload};
}

TEST(Packet, ReadsWhatItWrote) {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{4096}}) {
    const std::vector<uint8_t> payload(length, 0x5a);
    const std::vector<uint8_t> frame = Frame(WriteOnly(payload));
    ReceivedPacket read;
    ASSERT_EQ(Read(frame, read), Reception::kAccepted);
    EXPECT_EQ(read.source, kSource);
    EXPECT_EQ(read.packet.opcode, wire::kOpcodeWriteOnlyImmediate);
    EXPECT_EQ(read.packet.destination, Qpn{0xabcdef});
    EXPECT_EQ(read.packet.psn, 0xfedcbau);
    EXPECT_TRUE(read.packet.ack_request);
    EXPECT_EQ(read.packet.reth.virtual_address, 0x7f00'1234'5678u);
    EXPECT_EQ(read.packet.reth.rkey, 99u);
    EXPECT_EQ(read.packet.immediate, 4711u);
    EXPECT_FALSE(read.packet.congestion_experienced);
    EXPECT_EQ(std::vector<uint8_t>(read.packet.payload.begin(), read.packet.payload.end()),
              payload);
  }
}

TEST(Packet, HasTheAddressesAndCodePointsOfTheSimulator) {
  const std::vector<uint8_t> frame = Frame(WriteOnly({}));
  EXPECT_EQ((std::vector<uint8_t>(frame.begin(), frame.begin() + 14)),
            (std::vector<uint8_t>{2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1, 8, 0}));
  EXPECT_EQ(frame[kTosAt], 26 << 2 | 2);  // ECT(0)
  EXPECT_EQ(Frame({.opcode = wire::kOpcodeAcknowledge})[kTosAt], 26 << 2);
  EXPECT_EQ(Frame({.opcode = wire::kOpcodeCnp})[kTosAt], 48 << 2);
}

TEST(Packet, ACnpHasSixteenReservedBytes) {
  const std::vector<uint8_t> frame = Frame({.opcode = wire::kOpcodeCnp});
  EXPECT_EQ(frame.size(), 14u + 20 + 8 + 12 + 16 + 4);
  ReceivedPacket read;
  EXPECT_EQ(Read(frame, read), Reception::kAccepted);
  EXPECT_TRUE(read.packet.payload.empty());
}

TEST(Packet, ACeMarkDoesNotChangeTheIcrc) {
  std::vector<uint8_t> frame = Frame(WriteOnly({}));
  frame[kTosAt] |= 3;
  ReceivedPacket read;
  ASSERT_EQ(Read(frame, read), Reception::kAccepted);
  EXPECT_TRUE(read.packet.congestion_experienced);
}

TEST(Packet, EveryFlippedBitBehindTheUdpHeaderIsFound) {
  const std::vector<uint8_t> payload(40, 1);
  const std::vector<uint8_t> frame = Frame(WriteOnly(payload));
  constexpr size_t kBth = 14 + 20 + 8;
  for (size_t bit = kBth * 8; bit < frame.size() * 8; ++bit) {
    if (bit / 8 == kBth + 4) continue;  // FECN, BECN: switches may change it
    std::vector<uint8_t> corrupt = frame;
    corrupt[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    ReceivedPacket read;
    EXPECT_EQ(Read(corrupt, read), Reception::kBadIcrc) << bit;
  }
}

TEST(Packet, IgnoresEthernetPadding) {
  std::vector<uint8_t> frame = Frame({.opcode = wire::kOpcodeAcknowledge, .psn = 5});
  frame.resize(80);
  ReceivedPacket read;
  ASSERT_EQ(Read(frame, read), Reception::kAccepted);
  EXPECT_EQ(read.packet.psn, 5u);
}

TEST(Packet, RejectsTruncatedFrames) {
  const std::vector<uint8_t> frame = Frame(WriteOnly(std::vector<uint8_t>(100)));
  for (size_t length = 0; length < frame.size(); ++length) {
    ReceivedPacket read;
    EXPECT_NE(Read({frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length)}, read),
              Reception::kAccepted);
  }
}

TEST(Packet, IgnoresOtherDestinations) {
  ReceivedPacket read;
  EXPECT_EQ(ReadFrame(Frame(WriteOnly({})), 0x0a000003, read), Reception::kForeign);
}

}  // namespace
}  // namespace rocescope::endpoint
