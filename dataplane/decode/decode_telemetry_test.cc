// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "dataplane/decode/decode.h"
#include "dataplane/wire/int_metadata.h"
#include "tests/support/decode_frame.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

constexpr TelemetryPorts kPorts;

Frame ToCollector(uint16_t port) {
  return Frame().Eth().Ipv4("192.0.2.1", "192.0.2.100").Udp(50000, port);
}

TEST(DecodeTelemetry, RecognisesReportsAndSflowByPort) {
  const Bytes report = ToCollector(kPorts.int_reports).Payload(40).Build();
  DecodedFrame frame = Decode(report);
  EXPECT_EQ(frame.kind, FrameKind::kIntReport);
  EXPECT_EQ(frame.telemetry.size(), 40u);
  EXPECT_FALSE(frame.cut);
  EXPECT_EQ(frame.wire_length, report.size());
  const Bytes sflow = ToCollector(6343).Payload(60).Trailer(4).Build();
  frame = Decode(sflow);
  EXPECT_EQ(frame.kind, FrameKind::kSflow);
  EXPECT_EQ(frame.telemetry.size(), 60u) << "excludes Ethernet padding";
}

TEST(DecodeTelemetry, SupportsConfiguredPorts) {
  const Bytes bytes = ToCollector(9555).Payload(40).Build();
  EXPECT_EQ(DropReasonOf(bytes), DropReason::kNotRoce);
  DecodedFrame frame{};
  EXPECT_EQ(DecodeFrame({.bytes = bytes}, frame, {.int_reports = 9555}), DropReason::kNone);
  EXPECT_EQ(frame.kind, FrameKind::kIntReport);
  EXPECT_EQ(DecodeFrame({.bytes = ToCollector(0).Payload(8).Build()}, frame, {.sflow = 0}),
            DropReason::kNotRoce)
      << "port 0 means that no port is configured";
}

TEST(DecodeTelemetry, ReportsTruncation) {
  const DecodedFrame frame = Decode(ToCollector(6343).Payload(500).Snap(128).Build());
  EXPECT_EQ(frame.kind, FrameKind::kSflow);
  EXPECT_TRUE(frame.cut);
  EXPECT_EQ(frame.telemetry.size(), 128u - 14 - 20 - 8);
}

TEST(DecodeTelemetry, IgnoresTelemetryInsideTunnels) {
  EXPECT_EQ(DropReasonOf(InVxlan(ToCollector(6343).Payload(60).Build(), 7)), DropReason::kNotRoce);
  EXPECT_EQ(DropReasonOf(InErspan3(ToCollector(kPorts.int_reports).Payload(60).Build(), {})),
            DropReason::kNotRoce);
}

// An INT-MD stack with node ID and hop latency of one hop, as inserted after the UDP header.
Bytes IntBetween(const wire::IntShim& shim) {
  Bytes bytes(wire::IntShim::kSize + wire::IntMdHeader::kSize + 8);
  wire::ByteWriter out(bytes);
  Write(out, shim);
  const wire::IntMdHeader header = {.hop_words = 2,
                                    .instructions = wire::kIntNodeId | wire::kIntHopLatency};
  Write(out, header);
  WriteIntHop(
      out, header,
      {.present = wire::kIntNodeId | wire::kIntHopLatency, .node_id = 7, .hop_latency = 800});
  return bytes;
}

// All bytes after the UDP header of a WRITE.
Bytes Transport() {
  const Bytes frame = RoceFrame().Bth({.opcode = 0x07, .psn = 77}).Payload(64).Build();
  return {frame.begin() + 14 + 20 + 8, frame.end()};
}

TEST(DecodeInt, FindsRoceAfterInt) {
  const Bytes bytes = ToCollector(kPorts.int_md)
                          .Payload(IntBetween({.next_protocol = wire::IntShim::kUdpPayload,
                                               .length_words = 5,
                                               .original = wire::kUdpPortRoce}))
                          .Payload(Transport())
                          .Build();
  const DecodedFrame frame = Decode(bytes);
  EXPECT_EQ(frame.kind, FrameKind::kRoce);
  EXPECT_EQ(frame.psn, 77u);
  EXPECT_EQ(frame.payload_length, 64u);
  EXPECT_EQ(frame.int_stack.size(), 20u);
  EXPECT_EQ(CheckIcrc(frame), IcrcResult::kUnknown) << "the switch changed the headers";
}

TEST(DecodeInt, FindsRoceAfterAdditionalUdpHeader) {
  const Bytes udp = Frame().Udp(49152).Payload(Transport()).Build();
  const Bytes bytes = ToCollector(kPorts.int_md)
                          .Payload(IntBetween({.next_protocol = wire::IntShim::kLayer4,
                                               .length_words = 5,
                                               .original = wire::kIpProtocolUdp}))
                          .Payload(udp)
                          .Build();
  const DecodedFrame frame = Decode(bytes);
  EXPECT_EQ(frame.psn, 77u);
  EXPECT_EQ(frame.udp_source_port, 49152u);
  EXPECT_EQ(frame.int_stack.size(), 20u);
}

TEST(DecodeInt, DropsOtherProtocols) {
  const auto reason_of = [](const wire::IntShim& shim) {
    return DropReasonOf(
        ToCollector(kPorts.int_md).Payload(IntBetween(shim)).Payload(Transport()).Build());
  };
  EXPECT_EQ(
      reason_of({.next_protocol = wire::IntShim::kUdpPayload, .length_words = 5, .original = 53}),
      DropReason::kNotRoce);
  EXPECT_EQ(reason_of({.next_protocol = wire::IntShim::kLayer4, .length_words = 5, .original = 6}),
            DropReason::kNotRoce);
  EXPECT_EQ(reason_of({.next_protocol = wire::IntShim::kNone, .length_words = 5}),
            DropReason::kNotRoce);
}

TEST(DecodeInt, DistinguishesWrongLengthsFromTruncation) {
  const wire::IntShim short_stack = {.next_protocol = wire::IntShim::kUdpPayload,
                                     .length_words = 2,
                                     .original = wire::kUdpPortRoce};
  EXPECT_EQ(DropReasonOf(ToCollector(kPorts.int_md).Payload(IntBetween(short_stack)).Build()),
            DropReason::kBadInt)
      << "shorter than the metadata header";
  const wire::IntShim long_stack = {.next_protocol = wire::IntShim::kUdpPayload,
                                    .length_words = 100,
                                    .original = wire::kUdpPortRoce};
  const Frame frame = ToCollector(kPorts.int_md).Payload(IntBetween(long_stack));
  EXPECT_EQ(DropReasonOf(frame.Build()), DropReason::kBadInt) << "longer than the packet";
  EXPECT_EQ(DropReasonOf(Frame(frame).Payload(500).Snap(80).Build()),
            DropReason::kTruncatedTelemetry);
}

// Byte 0 of the INT-MD header begins with the version.
TEST(DecodeInt, DropsOtherVersions) {
  Bytes stack = IntBetween({.next_protocol = wire::IntShim::kUdpPayload,
                            .length_words = 5,
                            .original = wire::kUdpPortRoce});
  stack[wire::IntShim::kSize] = 0x10;
  EXPECT_EQ(DropReasonOf(ToCollector(kPorts.int_md).Payload(stack).Payload(Transport()).Build()),
            DropReason::kBadInt);
}

TEST(DecodeInt, ClearsStackOfPreviousFrame) {
  DecodedFrame frame{};
  const Bytes with = ToCollector(kPorts.int_md)
                         .Payload(IntBetween({.next_protocol = wire::IntShim::kUdpPayload,
                                              .length_words = 5,
                                              .original = wire::kUdpPortRoce}))
                         .Payload(Transport())
                         .Build();
  DecodeFrame({.bytes = with}, frame);
  ASSERT_FALSE(frame.int_stack.empty());
  const Bytes without = RoceFrame().Bth({.opcode = 0x07}).Payload(64).Build();
  DecodeFrame({.bytes = without}, frame);
  EXPECT_TRUE(frame.int_stack.empty());
}

}  // namespace
}  // namespace rocescope::test
