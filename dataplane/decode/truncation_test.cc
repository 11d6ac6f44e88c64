// SPDX-License-Identifier: BSD-3-Clause
// Every frame cut at every octet: either it is dropped for being cut, or what was captured reads as
// it does in the whole frame.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/decode_frame.h"
#include "tests/support/frame_builder.h"
#include "tests/support/golden.h"

namespace rocescope {
namespace {

using test::Bytes;
using test::Encoded;
using test::Frame;
using test::InErspan1;
using test::InErspan2;
using test::InErspan3;
using test::InGeneve;
using test::InGre;
using test::InVxlan;
using test::RoceFrame;

struct Case {
  std::string name;
  Bytes bytes;
  LinkType link_type = LinkType::kEthernet;
};

Frame Write(Frame frame) {
  return frame
      .Bth({.opcode = wire::kOpcodeWriteOnlyImmediate,
            .becn = true,
            .destination_qpn = {9},
            .psn = 77})
      .Reth({.virtual_address = 0x123456789a, .rkey = 5, .dma_length = 21})
      .ImmDt({.data = 6})
      .Payload(21);
}

std::vector<Case> Cases() {
  const Bytes write = Write(RoceFrame()).Build();
  const Bytes options = {0x01, 0x02, 0x80, 0x01, 0xde, 0xad, 0xbe, 0xef};
  return {
      {"Ipv4", write},
      {"Qinq",
       Write(Frame().Eth().Vlan(9, 0, 0x88a8).Vlan(5).Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build()},
      {"Ipv4Options", Write(RoceFrame("10.0.0.1", "10.0.0.2", {.options = Bytes(8, 1)})).Build()},
      {"Ipv6", Write(Frame().Eth().Ipv6("fd00::1", "fd00::2").Udp()).Build()},
      {"Ipv6Extensions", Write(Frame()
                                   .Eth()
                                   .Ipv6("fd00::1", "fd00::2")
                                   .Ipv6Extension(wire::kIpProtocolHopByHop)
                                   .Ipv6Extension(wire::kIpProtocolDestinationOptions, 16)
                                   .Ipv6Fragment(0, false)
                                   .Udp())
                             .Build()},
      {"RoceV1", Write(Frame().Eth().Grh("fe80::1", "fe80::2")).Build()},
      {"AtomicAcknowledge", RoceFrame()
                                .Bth({.opcode = wire::kOpcodeAtomicAcknowledge})
                                .Aeth({.msn = 3})
                                .AtomicAckEth({.original_data = 7})
                                .Build()},
      {"CompareSwap",
       RoceFrame().Bth({.opcode = wire::kOpcodeCompareSwap}).AtomicEth({.compare = 7}).Build()},
      {"XrcSendInvalidate",
       RoceFrame().Bth({.opcode = 0xb7}).Xrceth({.srq_number = 1}).Ieth({.rkey = 2}).Build()},
      {"RdSend",
       RoceFrame().Bth({.opcode = 0x44}).Rdeth({.ee_context = 1}).Deth({.queue_key = 2}).Build()},
      {"Cm", RoceFrame()
                 .Bth({.opcode = wire::kOpcodeUdSendOnly, .destination_qpn = {1}})
                 .Deth({.queue_key = 0x80010000, .source_qpn = {1}})
                 .Cm({.local_qpn = {44}, .starting_psn = 45})
                 .Build()},
      {"Pfc", Frame().Eth().Pause({.class_enable = 255}).Build()},
      {"Pause", Frame().Eth().Pause({.opcode = wire::kPauseOpcode}).Build()},
      {"LinuxCooked", Write(Frame().LinuxCooked().Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build(),
       LinkType::kLinuxCooked},
      {"LinuxCooked2", Write(Frame().LinuxCooked2().Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build(),
       LinkType::kLinuxCooked2},
      {"RawIp", Write(Frame().Ipv6("fd00::1", "fd00::2").Udp()).Build(), LinkType::kRawIp},
      {"Erspan1", InErspan1(write)},
      {"Erspan2", InErspan2(write, {.session = 3})},
      {"Erspan3", InErspan3(write, {.session = 3})},
      {"Erspan3Platform", InErspan3(write, {.session = 3}, 1, {.platform_id = 5})},
      {"Gre", InGre(write)},
      {"Vxlan", InVxlan(write, 5)},
      {"Geneve", InGeneve(write, 5, options)},
      {"ThreeTunnels", InErspan2(InVxlan(InGeneve(write, 6), 7), {.session = 8})},
  };
}

class Truncation : public testing::TestWithParam<Case> {};

bool IsTruncation(DropReason reason) {
  return reason == DropReason::kTruncatedLink || reason == DropReason::kTruncatedIp ||
         reason == DropReason::kTruncatedUdp || reason == DropReason::kTruncatedBth ||
         reason == DropReason::kTruncatedMirror || reason == DropReason::kTruncatedPause;
}

void ExpectSameHeaders(const DecodedFrame& cut, const DecodedFrame& whole) {
  ASSERT_EQ(cut.kind, whole.kind);
  EXPECT_EQ(cut.wire_length, whole.wire_length);
  EXPECT_EQ(cut.vlan_count, whole.vlan_count);
  EXPECT_EQ(cut.segment, whole.segment);
  EXPECT_EQ(cut.mirror.kind, whole.mirror.kind);
  EXPECT_EQ(cut.mirror.session, whole.mirror.session);
  EXPECT_EQ(cut.source_mac, whole.source_mac);
  if (whole.kind == FrameKind::kPause) {
    EXPECT_EQ(Encoded(cut.pause), Encoded(whole.pause));
    return;
  }
  EXPECT_EQ(cut.source, whole.source);
  EXPECT_EQ(cut.destination, whole.destination);
  EXPECT_EQ(cut.traffic_class, whole.traffic_class);
  EXPECT_EQ(cut.ttl, whole.ttl);
  EXPECT_EQ(cut.udp_source_port, whole.udp_source_port);
  EXPECT_EQ(cut.roce_v1, whole.roce_v1);
  EXPECT_EQ(Encoded(cut.bth), Encoded(whole.bth));
  EXPECT_EQ(cut.payload_length, whole.payload_length);
}

// The optional parts of the cut frame are among the whole one's and say the same.
void ExpectSameParts(const DecodedFrame& cut, const DecodedFrame& whole) {
  EXPECT_EQ(cut.parts & ~whole.parts, 0);
  const auto same = [&](PartBit part, const auto& a, const auto& b) {
    if (cut.Has(part)) {
      EXPECT_EQ(Encoded(a), Encoded(b)) << "part " << part;
    }
  };
  same(kPartReth, cut.reth, whole.reth);
  same(kPartAeth, cut.aeth, whole.aeth);
  same(kPartDeth, cut.deth, whole.deth);
  same(kPartImmDt, cut.immediate, whole.immediate);
  same(kPartIeth, cut.ieth, whole.ieth);
  same(kPartAtomicEth, cut.atomic, whole.atomic);
  same(kPartAtomicAckEth, cut.atomic_ack, whole.atomic_ack);
  same(kPartXrceth, cut.xrceth, whole.xrceth);
  same(kPartRdeth, cut.rdeth, whole.rdeth);
  if (cut.Has(kPartCm)) {
    EXPECT_EQ(cut.cm.local_qpn, whole.cm.local_qpn);
    EXPECT_EQ(cut.cm.starting_psn, whole.cm.starting_psn);
  }
  ASSERT_LE(cut.payload.size(), whole.payload.size());
  EXPECT_TRUE(std::equal(cut.payload.begin(), cut.payload.end(), whole.payload.begin()));
}

TEST_P(Truncation, AtEveryByteDropsOrReadsTheSame) {
  const auto& [name, bytes, link_type] = GetParam();
  const auto original_length = static_cast<uint32_t>(bytes.size());
  const DecodedFrame whole = test::Decode(bytes, link_type);
  EXPECT_FALSE(whole.cut);
  bool decoded_before = false;
  int parts_before = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(std::to_string(size) + " of " + std::to_string(bytes.size()) + " octets");
    const Bytes prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    DecodedFrame cut{};
    const DropReason reason = DecodeFrame(
        {.bytes = prefix, .original_length = original_length, .link_type = link_type}, cut);
    if (reason != DropReason::kNone) {
      EXPECT_FALSE(decoded_before) << "a shorter cut was decoded";
      EXPECT_TRUE(IsTruncation(reason)) << kDropReasons[static_cast<size_t>(reason)].name;
      continue;
    }
    decoded_before = true;
    ExpectSameHeaders(cut, whole);
    if (whole.kind == FrameKind::kPause) continue;
    EXPECT_TRUE(cut.cut);
    ExpectSameParts(cut, whole);
    EXPECT_EQ(cut.parts & parts_before, parts_before) << "a shorter cut had more";
    parts_before = cut.parts;
    EXPECT_EQ(CheckIcrc(cut), IcrcResult::kUnknown);
  }
  EXPECT_TRUE(decoded_before);
  if (whole.kind == FrameKind::kRoce) {
    EXPECT_EQ(parts_before, whole.parts);
  }
}

INSTANTIATE_TEST_SUITE_P(Frames, Truncation, testing::ValuesIn(Cases()),
                         [](const auto& test_case) { return test_case.param.name; });

}  // namespace
}  // namespace rocescope
