// SPDX-License-Identifier: BSD-3-Clause
// Encapsulated frames: mirrors and overlays.
#include <gtest/gtest.h>

#include "tests/support/decode_frame.h"
#include "tests/support/frame_builder.h"

namespace rocescope {
namespace {

using test::Bytes;
using test::Decode;
using test::DropReasonOf;
using test::Frame;
using test::InErspan1;
using test::InErspan2;
using test::InErspan3;
using test::InGeneve;
using test::InGre;
using test::InVxlan;
using test::RoceFrame;

constexpr uint32_t kPsn = 0xabcdef;

// A WRITE ONLY of 30 bytes: 14 + 4 + 20 + 8 + 12 + 16 + 30 + 2 + 4 = 110 bytes on the wire.
Bytes Original() {
  return Frame()
      .Eth({.source = 0x0a0000000001, .destination = 0x0a0000000002})
      .Vlan(42)
      .Ipv4("10.0.0.1", "10.0.0.2", {.ttl = 61})
      .Udp()
      .Bth({.opcode = wire::kOpcodeWriteOnly, .destination_qpn = {9}, .psn = kPsn})
      .Reth({.rkey = 5, .dma_length = 30})
      .Payload(30)
      .Build();
}

// Checks the fields of the original frame, whatever its encapsulation.
void ExpectOriginal(const DecodedFrame& frame) {
  EXPECT_EQ(frame.source_mac, 0x0a0000000001u);
  EXPECT_EQ(frame.vlan_count, 1);
  EXPECT_EQ(frame.vlan_id, 42);
  EXPECT_EQ(ToString(frame.source), "10.0.0.1");
  EXPECT_EQ(ToString(frame.destination), "10.0.0.2");
  EXPECT_EQ(frame.ttl, 61);
  EXPECT_EQ(frame.bth.psn, kPsn);
  EXPECT_EQ(frame.wire_length, 110u);
  EXPECT_EQ(frame.payload_length, 30u);
  EXPECT_FALSE(frame.cut);
}

void ExpectFromSwitch(const MirrorInfo& mirror) {
  EXPECT_EQ(ToString(mirror.source), "192.0.2.1");
  EXPECT_EQ(ToString(mirror.destination), "192.0.2.100");
}

TEST(DecodeMirror, ReadsErspan1) {
  const Bytes bytes = InErspan1(Original());
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  ExpectFromSwitch(frame.mirror);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kErspan1);
  EXPECT_FALSE(frame.mirror.has_sequence);
  EXPECT_FALSE(frame.mirror.has_port_index);
  EXPECT_FALSE(frame.mirror.has_timestamp);
  EXPECT_EQ(frame.segment, 0u);
}

TEST(DecodeMirror, ReadsErspan2) {
  const Bytes bytes = InErspan2(Original(), {.session = 1000, .index = 0xabcde}, 0xfffffffe);
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  ExpectFromSwitch(frame.mirror);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kErspan2);
  EXPECT_EQ(frame.mirror.direction, MirrorDirection::kUnknown);
  EXPECT_TRUE(frame.mirror.has_sequence);
  EXPECT_EQ(frame.mirror.sequence, 0xfffffffeu);
  EXPECT_EQ(frame.mirror.session, 1000);
  EXPECT_TRUE(frame.mirror.has_port_index);
  EXPECT_EQ(frame.mirror.port_index, 0xabcdeu);
  EXPECT_FALSE(frame.mirror.truncated);
  EXPECT_FALSE(frame.mirror.has_timestamp);
}

TEST(DecodeMirror, ReadsErspan3) {
  const Bytes bytes = InErspan3(
      Original(),
      {.session = 7, .timestamp = 12345, .granularity = wire::ErspanGranularity::k100Nanoseconds},
      99);
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  ExpectFromSwitch(frame.mirror);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kErspan3);
  EXPECT_EQ(frame.mirror.direction, MirrorDirection::kIngress);
  EXPECT_EQ(frame.mirror.sequence, 99u);
  EXPECT_EQ(frame.mirror.session, 7);
  EXPECT_FALSE(frame.mirror.has_port_index);
  EXPECT_TRUE(frame.mirror.has_timestamp);
  EXPECT_EQ(frame.mirror.timestamp, 12345u);
  EXPECT_EQ(frame.mirror.granularity, wire::ErspanGranularity::k100Nanoseconds);
  EXPECT_FALSE(frame.mirror.has_seconds);
}

TEST(DecodeMirror, ReadsErspan3WithThePlatformSubheader) {
  const Bytes bytes = InErspan3(Original(),
                                {.session = 7,
                                 .timestamp = 12345,
                                 .egress = true,
                                 .granularity = wire::ErspanGranularity::kIeee1588},
                                99, {.platform_id = 5, .info = 3 << 16 | 17, .word = 1700000000});
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  EXPECT_EQ(frame.mirror.direction, MirrorDirection::kEgress);
  EXPECT_TRUE(frame.mirror.has_port_index);
  EXPECT_EQ(frame.mirror.port_index, 17u);
  EXPECT_TRUE(frame.mirror.has_seconds);
  EXPECT_FALSE(frame.mirror.has_upper_timestamp);
  EXPECT_EQ(frame.mirror.timestamp_upper, 1700000000u);
}

TEST(DecodeMirror, ReadsErspan3ThatCarriesAnIpPacket) {
  const Bytes bytes = Frame()
                          .Eth()
                          .Ipv4("192.0.2.1", "192.0.2.100")
                          .Erspan3({.ethernet_payload = false, .frame_type = 2})
                          .Ipv6("fd00::1", "fd00::2")
                          .Udp()
                          .Bth({.opcode = wire::kOpcodeSendOnly, .psn = kPsn})
                          .Build();
  const DecodedFrame frame = Decode(bytes);
  EXPECT_EQ(frame.bth.psn, kPsn);
  EXPECT_EQ(frame.wire_length, 40u + 8 + 12 + 4);
}

// A switch may truncate a copy: the outer lengths shrink, and the inner lengths remain those of the
// original packet.
TEST(DecodeMirror, TakesLengthOfTruncatedCopyFromHeaders) {
  const Bytes original = Original();
  const Bytes copy = InErspan2(std::span(original).first(80), {.truncated = true, .session = 1});
  const DecodedFrame frame = Decode(copy);
  EXPECT_TRUE(frame.mirror.truncated);
  EXPECT_TRUE(frame.cut);
  EXPECT_EQ(frame.wire_length, 110u);
  EXPECT_EQ(frame.payload_length, 30u);
  EXPECT_EQ(frame.payload.size(), 80u - 74);  // the bytes after the RETH
  EXPECT_EQ(frame.reth.rkey, 5u);
  EXPECT_TRUE(frame.network_packet.empty());
}

TEST(DecodeMirror, ReadsGreWithEthernetAndWithIp) {
  const Bytes ethernet = InGre(Original());
  ExpectOriginal(Decode(ethernet));
  EXPECT_EQ(Decode(ethernet).mirror.kind, MirrorKind::kGre);
  const Bytes ip = Frame()
                       .Eth()
                       .Ipv4("192.0.2.1", "192.0.2.100")
                       .Gre({.has_key = true, .has_sequence = true, .key = 3, .sequence = 8})
                       .Ipv4("10.0.0.1", "10.0.0.2")
                       .Udp()
                       .Bth({.opcode = wire::kOpcodeSendOnly, .psn = kPsn})
                       .Build();
  const DecodedFrame frame = Decode(ip);
  EXPECT_EQ(frame.bth.psn, kPsn);
  EXPECT_TRUE(frame.mirror.has_sequence);
  EXPECT_EQ(frame.mirror.sequence, 8u);
}

TEST(DecodeMirror, ReadsVxlan) {
  const Bytes bytes = InVxlan(Original(), 0x123456);
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  ExpectFromSwitch(frame.mirror);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kVxlan);
  EXPECT_EQ(frame.segment, 0x123457u);  // VNI + 1, because 0 means none
}

TEST(DecodeMirror, ReadsGeneveWithOptions) {
  const Bytes options = {0x01, 0x02, 0x80, 0x01, 0xde, 0xad, 0xbe, 0xef};
  const Bytes bytes = InGeneve(Original(), 77, options);
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kGeneve);
  EXPECT_EQ(frame.segment, 78u);
  ExpectOriginal(Decode(InGeneve(Original(), 77)));
}

// A mirror of a port that carries an overlay: the outer header is the mirror's, the inner one the
// tenant's.
TEST(DecodeMirror, SeparatesMirrorAndTenant) {
  const Bytes bytes =
      InErspan2(InVxlan(Original(), 500), {.session = 3}, 11, {.source = "198.51.100.9"});
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kErspan2);
  EXPECT_EQ(frame.mirror.session, 3);
  EXPECT_EQ(frame.mirror.sequence, 11u);
  EXPECT_EQ(ToString(frame.mirror.source), "198.51.100.9");
  EXPECT_EQ(frame.segment, 501u);
}

// The collector's port may be tagged; this tag and its MAC addresses do not belong to the original
// frame.
TEST(DecodeMirror, IgnoresCollectorLinkLayer) {
  const auto carried = [](auto&& tunnel) {
    Frame frame;
    frame.Eth().Vlan(7).Ipv4("192.0.2.1", "192.0.2.100");
    tunnel(frame);
    return frame.Ipv4("10.0.0.1", "10.0.0.2")
        .Udp()
        .Bth({.opcode = wire::kOpcodeSendOnly, .psn = kPsn})
        .Build();
  };
  const Bytes copies[] = {carried([](Frame& frame) { frame.Gre(); }), carried([](Frame& frame) {
                            frame.Erspan3({.ethernet_payload = false, .frame_type = 2});
                          })};
  for (const Bytes& copy : copies) {
    const DecodedFrame frame = Decode(copy);
    EXPECT_EQ(frame.bth.psn, kPsn);
    EXPECT_EQ(frame.vlan_count, 0);
    EXPECT_EQ(frame.source_mac, 0u);
    EXPECT_EQ(frame.destination_mac, 0u);
  }
}

// A fabric whose switches send copies to the collector through an overlay.
TEST(DecodeMirror, PrefersErspanAsMirrorHeader) {
  const Bytes copy = InErspan2(Original(), {.session = 3}, 11, {.source = "198.51.100.9"});
  for (const Bytes& carried : {InVxlan(copy, 500), InGeneve(copy, 500), InGre(copy)}) {
    const DecodedFrame frame = Decode(carried);
    ExpectOriginal(frame);
    EXPECT_EQ(frame.mirror.kind, MirrorKind::kErspan2);
    EXPECT_EQ(frame.mirror.session, 3);
    EXPECT_TRUE(frame.mirror.has_sequence);
    EXPECT_EQ(frame.mirror.sequence, 11u);
    EXPECT_EQ(ToString(frame.mirror.source), "198.51.100.9");
    EXPECT_EQ(frame.segment, 0u);
  }
}

TEST(DecodeMirror, KeepsTenantOfMirroredFrameInsideAnOverlay) {
  const Bytes bytes = InVxlan(InErspan3(InVxlan(Original(), 500), {.session = 3}), 600);
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kErspan3);
  EXPECT_EQ(frame.segment, 501u);
}

// The appliance may receive another collector's copies. The outer header identifies where the copy
// was taken.
TEST(DecodeMirror, UsesOuterOfTwoErspanHeaders) {
  const Bytes bytes = InErspan2(InErspan3(Original(), {.session = 4}), {.session = 3});
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kErspan2);
  EXPECT_EQ(frame.mirror.session, 3);
}

// 802.3, 31.4: 64 bytes with FCS.
TEST(DecodeMirror, CountsFullLengthOfPauseFrames) {
  const DecodedFrame frame = Decode(InErspan2(Frame().Eth().Pause({}).Build(), {.session = 5}));
  EXPECT_EQ(frame.kind, FrameKind::kPause);
  EXPECT_EQ(frame.wire_length, 60u);
}

TEST(DecodeMirror, ReadsThreeTunnelsAndDropsFour) {
  const Bytes three = InErspan3(InVxlan(InGeneve(Original(), 1), 2), {.session = 4});
  ExpectOriginal(Decode(three));
  EXPECT_EQ(DropReasonOf(InGre(three)), DropReason::kNestedTooDeep);
  EXPECT_EQ(DropReasonOf(InErspan1(three)), DropReason::kNestedTooDeep);
}

TEST(DecodeMirror, ReadsTunnelsOverIpv6) {
  const Bytes bytes =
      Frame().Eth().Ipv6("fd00::1", "fd00::2").Vxlan(7).Encapsulated(Original()).Build();
  const DecodedFrame frame = Decode(bytes);
  ExpectOriginal(frame);
  EXPECT_EQ(ToString(frame.mirror.source), "fd00::1");
}

// A DecodedFrame is reused: nothing of the previous frame's mirror header may remain.
TEST(DecodeMirror, ClearsMirrorOfPreviousFrame) {
  const Bytes mirrored = InErspan2(InVxlan(Original(), 5), {.session = 3});
  const Bytes plain = RoceFrame().Bth({.opcode = wire::kOpcodeSendOnly}).Build();
  DecodedFrame frame;
  ASSERT_EQ(DecodeFrame({.bytes = mirrored}, frame), DropReason::kNone);
  ASSERT_EQ(DecodeFrame({.bytes = plain}, frame), DropReason::kNone);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kNone);
  EXPECT_EQ(frame.segment, 0u);
  EXPECT_EQ(frame.vlan_count, 0);
}

// The GRE header begins at byte 34 and the ERSPAN header at byte 42; VXLAN and Geneve headers begin
// at byte 42.
TEST(DecodeMirror, ReportsDropReasonOfBadMirrorHeaders) {
  const auto with = [](Bytes bytes, size_t offset, uint8_t octet) {
    bytes[offset] = octet;
    return DropReasonOf(bytes);
  };
  EXPECT_EQ(with(InErspan2(Original(), {}), 42, 0x30), DropReason::kBadMirror);  // version 3
  EXPECT_EQ(with(InErspan3(Original(), {}), 42, 0x10), DropReason::kBadMirror);  // version 1
  EXPECT_EQ(with(InGre(Original()), 34, 0x40), DropReason::kBadMirror);          // routing
  EXPECT_EQ(with(InGre(Original()), 35, 0x01), DropReason::kNotRoce);            // PPTP
  EXPECT_EQ(with(InVxlan(Original(), 5), 42, 0x00), DropReason::kBadMirror);     // no I flag
  EXPECT_EQ(with(InGeneve(Original(), 5), 42, 0x40), DropReason::kBadMirror);    // version 1
}

}  // namespace
}  // namespace rocescope
