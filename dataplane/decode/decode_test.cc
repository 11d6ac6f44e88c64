// SPDX-License-Identifier: BSD-3-Clause
// Link layers, tags, IPv4, IPv6, RoCEv1 and pause frames. decode_mirror_test.cc tests tunnels, and
// transport_test.cc the headers after the BTH.
#include "dataplane/decode/decode.h"

#include <gtest/gtest.h>

#include "tests/support/decode_frame.h"
#include "tests/support/frame_builder.h"

namespace rocescope {
namespace {

using test::Bytes;
using test::Decode;
using test::DropReasonOf;
using test::Frame;
using test::RoceFrame;

const wire::Bth kSendOnly = {.opcode = wire::kOpcodeSendOnly,
                             .partition_key = 0xffff,
                             .destination_qpn = {0x11},
                             .ack_request = true,
                             .psn = 0xfebd3d};

// Ethernet 14, IPv4 20, UDP 8, BTH 12, payload 100, iCRC 4: 158 bytes.
TEST(Decode, ReadsAPlainFrame) {
  const Bytes bytes =
      Frame()
          .Eth({.source = 0x0050560000a1, .destination = 0x0050560000b2})
          .Ipv4("10.1.16.62", "10.1.16.61", {.dscp = 26, .ecn = wire::kEcnCe, .ttl = 61})
          .Udp(55410)
          .Bth(kSendOnly)
          .Payload(100)
          .Build();
  const DecodedFrame frame = Decode(bytes);
  EXPECT_EQ(frame.kind, FrameKind::kRoce);
  EXPECT_FALSE(frame.cut);
  EXPECT_FALSE(frame.roce_v1);
  EXPECT_EQ(frame.ip_version, 4);
  EXPECT_EQ(frame.wire_length, 158u);
  EXPECT_EQ(frame.source_mac, 0x0050560000a1u);
  EXPECT_EQ(frame.destination_mac, 0x0050560000b2u);
  EXPECT_EQ(ToString(frame.source), "10.1.16.62");
  EXPECT_EQ(ToString(frame.destination), "10.1.16.61");
  EXPECT_EQ(frame.Dscp(), 26);
  EXPECT_EQ(frame.Ecn(), wire::kEcnCe);
  EXPECT_EQ(frame.ttl, 61);
  EXPECT_EQ(frame.udp_source_port, 55410);
  EXPECT_EQ(frame.segment, 0u);
  EXPECT_EQ(frame.vlan_count, 0);
  EXPECT_EQ(frame.mirror.kind, MirrorKind::kNone);
  EXPECT_EQ(frame.bth.destination_qpn, Qpn{0x11});
  EXPECT_EQ(frame.bth.psn, 0xfebd3du);
  EXPECT_TRUE(frame.bth.ack_request);
  EXPECT_EQ(frame.parts, 0);
  EXPECT_EQ(frame.payload_length, 100u);
  EXPECT_EQ(frame.payload.size(), 100u);
  EXPECT_EQ(frame.payload[99], 99);
  EXPECT_EQ(frame.network_packet.size(), 144u);
}

TEST(Decode, IgnoresEthernetPadding) {
  const Bytes bytes = RoceFrame().Bth(kSendOnly).Payload(1).Trailer(6).Build();
  const DecodedFrame frame = Decode(bytes);
  EXPECT_EQ(frame.payload_length, 1u);
  EXPECT_EQ(frame.bth.pad_count, 3);
  EXPECT_EQ(frame.wire_length, bytes.size() - 6);
  EXPECT_FALSE(frame.cut);
}

TEST(Decode, ReadsAVlanTag) {
  const DecodedFrame frame =
      Decode(Frame().Eth().Vlan(5).Ipv4("10.0.0.1", "10.0.0.2").Udp().Bth(kSendOnly).Build());
  EXPECT_EQ(frame.vlan_count, 1);
  EXPECT_EQ(frame.vlan_id, 5);
  EXPECT_EQ(frame.wire_length, 14u + 4 + 20 + 8 + 12 + 4);
}

// QinQ, and also RSPAN: the mirror's VLAN tag is outside of the frame's own tag.
TEST(Decode, ReportsTheOuterOfTwoTags) {
  for (uint16_t outer_type : {0x88a8, 0x9100, 0x8100}) {
    const DecodedFrame frame = Decode(Frame()
                                          .Eth()
                                          .Vlan(900, 0, outer_type)
                                          .Vlan(5)
                                          .Ipv4("10.0.0.1", "10.0.0.2")
                                          .Udp()
                                          .Bth(kSendOnly)
                                          .Build());
    EXPECT_EQ(frame.vlan_count, 2) << outer_type;
    EXPECT_EQ(frame.vlan_id, 900) << outer_type;
  }
}

TEST(Decode, DropsTooManyTags) {
  Frame frame = Frame().Eth();
  for (int i = 0; i < 5; ++i) frame.Vlan(7);
  EXPECT_EQ(DropReasonOf(frame.Ipv4("10.0.0.1", "10.0.0.2").Udp().Bth(kSendOnly).Build()),
            DropReason::kTooManyHeaders);
}

TEST(Decode, SkipsIpv4Options) {
  const Bytes router_alert = {0x94, 0x04, 0x00, 0x00, 0x01, 0x01, 0x01, 0x00};
  const DecodedFrame frame =
      Decode(RoceFrame("10.0.0.1", "10.0.0.2", {.options = router_alert}).Bth(kSendOnly).Build());
  EXPECT_EQ(frame.bth.psn, kSendOnly.psn);
  EXPECT_EQ(frame.wire_length, 14u + 28 + 8 + 12 + 4);
}

TEST(Decode, ReadsIpv6) {
  const DecodedFrame frame =
      Decode(Frame()
                 .Eth()
                 .Ipv6("fd00::1", "fd00::2", {.dscp = 46, .ecn = 3, .ttl = 7})
                 .Udp()
                 .Bth(kSendOnly)
                 .Payload(8)
                 .Build());
  EXPECT_EQ(frame.ip_version, 6);
  EXPECT_EQ(ToString(frame.source), "fd00::1");
  EXPECT_EQ(ToString(frame.destination), "fd00::2");
  EXPECT_EQ(frame.Dscp(), 46);
  EXPECT_EQ(frame.Ecn(), 3);
  EXPECT_EQ(frame.ttl, 7);
  EXPECT_EQ(frame.payload_length, 8u);
  EXPECT_EQ(frame.wire_length, 14u + 40 + 8 + 12 + 8 + 4);
}

TEST(Decode, SkipsIpv6ExtensionHeaders) {
  const DecodedFrame frame = Decode(Frame()
                                        .Eth()
                                        .Ipv6("fd00::1", "fd00::2")
                                        .Ipv6Extension(wire::kIpProtocolHopByHop)
                                        .Ipv6Extension(wire::kIpProtocolDestinationOptions, 16)
                                        .Ipv6Extension(wire::kIpProtocolRouting, 24)
                                        .Udp()
                                        .Bth(kSendOnly)
                                        .Payload(8)
                                        .Build());
  EXPECT_EQ(frame.bth.psn, kSendOnly.psn);
  EXPECT_EQ(frame.payload_length, 8u);
  EXPECT_EQ(frame.wire_length, 14u + 40 + 48 + 8 + 12 + 8 + 4);
}

TEST(Decode, DropsTooManyExtensionHeaders) {
  Frame frame = Frame().Eth().Ipv6("fd00::1", "fd00::2");
  for (int i = 0; i < 9; ++i) frame.Ipv6Extension(wire::kIpProtocolDestinationOptions);
  EXPECT_EQ(DropReasonOf(frame.Udp().Bth(kSendOnly).Build()), DropReason::kTooManyHeaders);
}

// The first fragment has the headers; the rest of the payload is in other fragments.
TEST(Decode, DecodesFirstFragmentAsCut) {
  constexpr uint16_t kMoreFragments = 0x2000;
  Bytes v4 = RoceFrame("10.0.0.1", "10.0.0.2", {.fragment = kMoreFragments})
                 .Bth(kSendOnly)
                 .Payload(64)
                 .Build();
  EXPECT_TRUE(Decode(v4).cut);
  EXPECT_EQ(Decode(v4).bth.psn, kSendOnly.psn);
  const Bytes v6 =
      Frame().Eth().Ipv6("fd00::1", "fd00::2").Ipv6Fragment(0, true).Udp().Bth(kSendOnly).Build();
  EXPECT_TRUE(Decode(v6).cut);
  EXPECT_EQ(Decode(v6).bth.psn, kSendOnly.psn);
}

TEST(Decode, AtomicFragmentIsNotCut) {
  const Bytes atomic_fragment =
      Frame().Eth().Ipv6("fd00::1", "fd00::2").Ipv6Fragment(0, false).Udp().Bth(kSendOnly).Build();
  EXPECT_FALSE(Decode(atomic_fragment).cut);
}

TEST(Decode, DropsLaterFragments) {
  EXPECT_EQ(
      DropReasonOf(RoceFrame("10.0.0.1", "10.0.0.2", {.fragment = 185}).Bth(kSendOnly).Build()),
      DropReason::kLaterFragment);
  EXPECT_EQ(
      DropReasonOf(
          Frame().Eth().Ipv6("fd00::1", "fd00::2").Ipv6Fragment(185, true).Payload(64).Build()),
      DropReason::kLaterFragment);
}

TEST(Decode, ReadsRoceV1) {
  const DecodedFrame frame = Decode(Frame()
                                        .Eth()
                                        .Vlan(3)
                                        .Grh("::ffff:15.0.0.2", "fe80::2", {.dscp = 1, .ttl = 9})
                                        .Bth(kSendOnly)
                                        .Payload(6)
                                        .Build());
  EXPECT_TRUE(frame.roce_v1);
  EXPECT_EQ(ToString(frame.source), "15.0.0.2");
  EXPECT_EQ(ToString(frame.destination), "fe80::2");
  EXPECT_EQ(frame.ttl, 9);
  EXPECT_EQ(frame.udp_source_port, 0);
  EXPECT_EQ(frame.payload_length, 6u);
  EXPECT_EQ(frame.wire_length, 14u + 4 + 40 + 12 + 8 + 4);
}

// Byte 6 of the GRH, which begins at byte 14, says that an InfiniBand transport header follows.
TEST(Decode, DropsOtherProtocolsAfterTheGlobalRouteHeader) {
  Bytes bytes = Frame().Eth().Grh("fe80::1", "fe80::2").Bth(kSendOnly).Build();
  bytes[14 + 6] = wire::kIpProtocolUdp;
  EXPECT_EQ(DropReasonOf(bytes), DropReason::kNotRoce);
}

TEST(Decode, ReadsPriorityFlowControl) {
  const DecodedFrame frame = Decode(
      Frame()
          .Eth({.source = 0x0c0000000001, .destination = 0x0180c2000001})
          .Pause({.opcode = wire::kPfcOpcode, .class_enable = 1 << 3, .quanta = {0, 0, 0, 0xffff}})
          .Build());
  EXPECT_EQ(frame.kind, FrameKind::kPause);
  EXPECT_EQ(frame.destination_mac, 0x0180c2000001u);
  EXPECT_EQ(frame.pause.opcode, wire::kPfcOpcode);
  EXPECT_EQ(frame.pause.class_enable, 8);
  EXPECT_EQ(frame.pause.quanta[3], 0xffff);
  EXPECT_EQ(frame.wire_length, 60u);
}

TEST(Decode, ReadsPause) {
  const DecodedFrame frame =
      Decode(Frame().Eth().Pause({.opcode = wire::kPauseOpcode, .quanta = {300}}).Build());
  EXPECT_EQ(frame.kind, FrameKind::kPause);
  EXPECT_EQ(frame.pause.opcode, wire::kPauseOpcode);
  EXPECT_EQ(frame.pause.quanta[0], 300);
}

TEST(Decode, ReadsCookedCaptures) {
  const auto packet = [](Frame frame) {
    return frame.Ipv4("10.0.0.1", "10.0.0.2").Udp().Bth(kSendOnly).Build();
  };
  EXPECT_EQ(Decode(packet(Frame().LinuxCooked()), LinkType::kLinuxCooked).bth.psn, kSendOnly.psn);
  EXPECT_EQ(Decode(packet(Frame().LinuxCooked2()), LinkType::kLinuxCooked2).bth.psn, kSendOnly.psn);
}

TEST(Decode, ReadsCapturesThatBeginWithIp) {
  const Bytes v4 = Frame().Ipv4("10.0.0.1", "10.0.0.2").Udp().Bth(kSendOnly).Build();
  const Bytes v6 = Frame().Ipv6("fd00::1", "fd00::2").Udp().Bth(kSendOnly).Build();
  EXPECT_EQ(Decode(v4, LinkType::kRawIp).ip_version, 4);
  EXPECT_EQ(Decode(v6, LinkType::kRawIp).ip_version, 6);
  EXPECT_EQ(Decode(v4, LinkType::kIpv4).wire_length, v4.size());
  EXPECT_EQ(Decode(v6, LinkType::kIpv6).wire_length, v6.size());
}

// Source port 4791 does not identify RoCE: a connection can use any source port.
TEST(Decode, IdentifiesRoceByDestinationPort) {
  const auto to_port = [](uint16_t source, uint16_t destination) {
    return Frame()
        .Eth()
        .Ipv4("10.0.0.1", "10.0.0.2")
        .Udp(source, destination)
        .Bth(kSendOnly)
        .Build();
  };
  EXPECT_EQ(DropReasonOf(to_port(53, 4791)), DropReason::kNone);
  EXPECT_EQ(DropReasonOf(to_port(4791, 53)), DropReason::kNotRoce);
}

TEST(Decode, ReportsNotRoce) {
  const Bytes arp = Frame().Eth().Payload(46).Build();  // EtherType 0
  EXPECT_EQ(DropReasonOf(arp), DropReason::kNotRoce);
  Bytes tcp = RoceFrame().Bth(kSendOnly).Build();
  tcp[14 + 9] = wire::kIpProtocolTcp;
  EXPECT_EQ(DropReasonOf(tcp), DropReason::kNotRoce);
}

TEST(Decode, ReportsDropReasonOfBadIpHeaders) {
  const Bytes good = RoceFrame().Bth(kSendOnly).Build();
  const auto with = [&good](size_t offset, uint8_t octet) {
    Bytes bytes = good;
    bytes[offset] = octet;
    return DropReasonOf(bytes);
  };
  EXPECT_EQ(with(14, 0x55), DropReason::kBadIp);  // version 5
  EXPECT_EQ(with(14, 0x44), DropReason::kBadIp);  // header of 16 bytes
  EXPECT_EQ(with(17, 19), DropReason::kBadIp);    // total length less than the header length
  EXPECT_EQ(with(39, 7), DropReason::kBadUdp);    // UDP length less than the header length
  EXPECT_EQ(with(39, 200), DropReason::kBadUdp);  // UDP length exceeds the packet
}

// A UDP length that exceeds the packet is wrong even if the capture was cut.
TEST(Decode, ComparesUdpLengthWithPacketNotCapture) {
  Bytes bytes = RoceFrame().Bth(kSendOnly).Payload(88).Build();
  bytes[39] += 1;
  for (size_t size = 42; size <= bytes.size(); ++size) {
    EXPECT_EQ(DropReasonOf(std::span(bytes).first(size)), DropReason::kBadUdp) << size;
  }
}

// The UDP length of a first fragment is the length of the whole datagram (RFC 768): 200 bytes of
// payload, of which this fragment has 64.
TEST(Decode, TakesLengthOfFragmentedDatagramFromUdpHeader) {
  Bytes bytes =
      RoceFrame("10.0.0.1", "10.0.0.2", {.fragment = 0x2000}).Bth(kSendOnly).Payload(64).Build();
  bytes[39] = 8 + 12 + 200 + 4;
  EXPECT_EQ(Decode(bytes).payload_length, 200u);
  EXPECT_EQ(Decode(bytes).payload.size(), 68u);  // including the bytes at the position of the iCRC
  Bytes v6 =
      Frame().Eth().Ipv6("fd00::1", "fd00::2").Ipv6Fragment(0, true).Udp().Bth(kSendOnly).Build();
  v6[14 + 40 + 8 + 5] = 8 + 12 + 200 + 4;
  EXPECT_EQ(Decode(v6).payload_length, 200u);
}

}  // namespace
}  // namespace rocescope
