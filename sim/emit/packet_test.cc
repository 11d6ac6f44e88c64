// SPDX-License-Identifier: BSD-3-Clause
// Held against frames that the tests' own builder puts together, header by header, and against the
// decoder.
#include "sim/emit/packet.h"

#include <gtest/gtest.h>

#include <string>

#include "dataplane/wire/opcode.h"
#include "tests/support/decode_frame.h"
#include "tests/support/frame_builder.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

using test::Bytes;

constexpr uint16_t kAeth = wire::kHasAeth;

topology::Fabric TwoHosts(bool ipv6) {
  topology::Fabric::Parts parts =
      topology::GenerateParts({.shape = topology::Shape::kStar, .hosts = 2}).value();
  if (ipv6) {
    for (size_t i = 0; i < 2; ++i) {
      parts.nics[i].addresses[0].address = ParseIpAddress(i == 0 ? "fd00::1" : "fd00::2").value();
    }
  }
  return topology::Fabric::Make(std::move(parts)).value();
}

class PacketTest : public ::testing::Test {
 protected:
  explicit PacketTest(bool ipv6 = false)
      : fabric_(TwoHosts(ipv6)),
        network_(fabric_, {}),
        connection_(network_.Connect(0, 1, nullptr)),
        writer_(network_) {}

  Frame Data(uint8_t opcode, uint32_t payload) const {
    const bool response = wire::InfoOf(opcode).operation == wire::Operation::kReadResponse;
    return {.sequence = 0x5000007,
            .queue_pair = connection_.first->identity().number,
            .destination = 1,
            .payload = payload,
            .kind = response ? FrameKind::kReadResponse : FrameKind::kRequest,
            .opcode = opcode,
            .priority = 3,
            .ttl = 61,
            .ecn_capable = true,
            .address = 0x7f00'1234'5000,
            .rkey = 0x1001,
            .dma_length = 9000,
            .immediate = 77,
            .message_sequence = 0x0203'0405,
            .syndrome = 0x1f};
  }

  Bytes Write(const Frame& frame, size_t snap = 65536) {
    Bytes room(std::min<size_t>(snap, writer_.LengthOf(frame)));
    EXPECT_EQ(writer_.WriteFrame(frame, room), room.size());
    return room;
  }

  // What the builder makes of the same frame.
  test::Frame Expected(const Frame& frame) const {
    const test::Ip ip{.dscp = frame.priority == 3 ? uint8_t{26} : uint8_t{48},
                      .ecn = frame.congestion_experienced ? wire::kEcnCe
                             : frame.ecn_capable          ? wire::kEcnEct0
                                                          : wire::kEcnNotEct,
                      .ttl = frame.ttl,
                      .identification = static_cast<uint16_t>(frame.sequence)};
    test::Frame expected;
    expected.Eth({.source = 0x0200'0000'0000, .destination = 0x0200'0000'0001});
    const auto text = [&](topology::NicIndex nic) {
      return ToString(fabric_.nic(nic).addresses[0].address);
    };
    if (fabric_.nic(0).addresses[0].address.IsV4()) {
      expected.Ipv4(text(0), text(1), ip);
    } else {
      expected.Ipv6(text(0), text(1), ip);
    }
    expected.Udp(connection_.first->identity().udp_source_port)
        .Bth({.opcode = frame.opcode,
              .migration_request = true,
              .partition_key = 0xffff,
              .becn = frame.kind == FrameKind::kCnp,
              .destination_qpn = connection_.second->identity().qpn,
              .ack_request = frame.ack_request,
              .psn = static_cast<uint32_t>(frame.sequence & 0xffffff)});
    const uint16_t headers = wire::InfoOf(frame.opcode).headers;
    if ((headers & wire::kHasReth) != 0) {
      expected.Reth(
          {.virtual_address = frame.address, .rkey = frame.rkey, .dma_length = frame.dma_length});
    }
    if ((headers & kAeth) != 0) {
      expected.Aeth({.syndrome = frame.syndrome, .msn = frame.message_sequence & 0xffffff});
    }
    if ((headers & wire::kHasImmDt) != 0) expected.ImmDt({.data = frame.immediate});
    return expected;
  }

  topology::Fabric fabric_;
  Network network_;
  Network::Connection connection_;
  PacketWriter writer_;
};

class Ipv6PacketTest : public PacketTest {
 protected:
  Ipv6PacketTest() : PacketTest(true) {}
};

constexpr uint8_t kDataOpcodes[] = {
    wire::kOpcodeSendFirst,          wire::kOpcodeSendMiddle,
    wire::kOpcodeSendLast,           wire::kOpcodeSendLastImmediate,
    wire::kOpcodeSendOnly,           wire::kOpcodeSendOnlyImmediate,
    wire::kOpcodeWriteFirst,         wire::kOpcodeWriteMiddle,
    wire::kOpcodeWriteLast,          wire::kOpcodeWriteLastImmediate,
    wire::kOpcodeWriteOnly,          wire::kOpcodeWriteOnlyImmediate,
    wire::kOpcodeReadRequest,        wire::kOpcodeReadResponseFirst,
    wire::kOpcodeReadResponseMiddle, wire::kOpcodeReadResponseLast,
    wire::kOpcodeReadResponseOnly,
};

TEST_F(PacketTest, IsWhatTheBuilderMakesOfEveryOpcodeAndPadding) {
  for (const uint8_t opcode : kDataOpcodes) {
    for (const uint32_t payload : {0u, 1u, 2u, 3u, 4u, 1000u, 4095u, 4096u}) {
      const Frame frame = Data(opcode, payload);
      EXPECT_EQ(Write(frame), Expected(frame).Payload(payload).Build())
          << wire::InfoOf(opcode).name << " of " << payload << " octets";
    }
  }
}

TEST_F(Ipv6PacketTest, IsWhatTheBuilderMakes) {
  for (const uint8_t opcode : kDataOpcodes) {
    const Frame frame = Data(opcode, 1022);
    EXPECT_EQ(Write(frame), Expected(frame).Payload(1022).Build()) << wire::InfoOf(opcode).name;
  }
}

TEST_F(PacketTest, OfAnAcknowledgementHasNoPayload) {
  Frame frame = Data(wire::kOpcodeAcknowledge, 0);
  frame.kind = FrameKind::kAcknowledge;
  frame.syndrome = 0x60;
  frame.ecn_capable = false;
  EXPECT_EQ(Write(frame), Expected(frame).Build());
}

TEST_F(PacketTest, OfACongestionNotificationSetsBecnBeforeSixteenReservedBytes) {
  Frame frame = Data(wire::kOpcodeCnp, 0);
  frame.kind = FrameKind::kCnp;
  frame.priority = 6;
  frame.ecn_capable = false;
  EXPECT_EQ(Write(frame), Expected(frame).Payload(Bytes(16)).Build());
}

TEST_F(PacketTest, SaysWhatSwitchesDidToIt) {
  Frame frame = Data(wire::kOpcodeWriteMiddle, 256);
  frame.congestion_experienced = true;
  frame.ttl = 3;
  frame.ack_request = true;
  EXPECT_EQ(Write(frame), Expected(frame).Payload(256).Build());
}

TEST_F(PacketTest, HasALengthThatTheNicGaveIt) {
  for (const uint8_t opcode : kDataOpcodes) {
    Frame frame = Data(opcode, 1001);
    FrameSizes{}.Set(frame);
    EXPECT_EQ(Write(frame).size(), frame.length) << wire::InfoOf(opcode).name;
  }
}

TEST_F(PacketTest, OfACorruptFrameHasAWrongIcrc) {
  Frame frame = Data(wire::kOpcodeWriteMiddle, 4096);
  const Bytes right = Write(frame);
  EXPECT_EQ(CheckIcrc(test::Decode(right)), IcrcResult::kValid);
  frame.corrupt = true;
  const Bytes wrong = Write(frame);
  EXPECT_EQ(CheckIcrc(test::Decode(wrong)), IcrcResult::kInvalid);
}

// ncclIbSendFifo of NCCL 2.20: address, size, rkeys; little-endian.
TEST_F(PacketTest, OfAClearToSendNamesAddressSizeAndKey) {
  Frame frame = Data(wire::kOpcodeWriteOnly, 64);
  frame.granted_address = 0x7f1234567890;
  frame.granted_rkey = 0xdeadbeef;
  frame.immediate = 65536;
  const Bytes bytes = Write(frame);
  const DecodedFrame decoded = test::Decode(bytes);
  ASSERT_EQ(decoded.payload.size(), 64u);
  const Bytes begin(decoded.payload.begin(), decoded.payload.begin() + 16);
  EXPECT_EQ(begin, (Bytes{0x90, 0x78, 0x56, 0x34, 0x12, 0x7f, 0, 0,  // address
                          0, 0, 1, 0,                                // size
                          0xef, 0xbe, 0xad, 0xde}));                 // rkey
  EXPECT_EQ(CheckIcrc(decoded), IcrcResult::kValid);
}

TEST_F(PacketTest, CutAnywhereIsTheFrontOfTheWhole) {
  for (const uint32_t payload : {30u, 64u}) {
    Frame frame = Data(wire::kOpcodeWriteOnly, payload);
    frame.granted_address = payload == 64 ? 0x7f1234567890 : 0;
    const Bytes whole = Write(frame);
    for (size_t snap = 0; snap <= whole.size(); ++snap) {
      EXPECT_EQ(Write(frame, snap), Bytes(whole.begin(), whole.begin() + static_cast<long>(snap)));
    }
  }
}

}  // namespace
}  // namespace rocescope::sim
