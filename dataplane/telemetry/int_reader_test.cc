// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "dataplane/telemetry/telemetry_reader.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

constexpr Timestamp kArrival = FromNanoseconds(1'700'000'000'000'000'000);
constexpr auto kTold = static_cast<uint64_t>(ToNanoseconds(kArrival)) - 5000;
constexpr uint16_t kBits = wire::kIntPorts | wire::kIntQueue | wire::kIntIngressTimestamp;

Bytes Packet(uint32_t psn = 77) {
  return RoceFrame("10.0.0.1", "10.0.0.2", {.ecn = wire::kEcnCe, .ttl = 62})
      .Bth({.opcode = 0x07, .destination_qpn = {17}, .psn = psn})
      .Payload(1024)
      .Snap(96)
      .Build();
}

// A postcard for the packet `inner`.
wire::IntReport Postcard(const Bytes& inner) {
  wire::IntReport report;
  report.header = {.inner_type = wire::kIntInnerEthernet, .congested = true, .tracked = true};
  report.main.metadata_bits = kBits;
  report.metadata = {.present = kBits,
                     .ingress_port = 7,
                     .egress_port = 9,
                     .queue_id = 3,
                     .queue_occupancy = 123'456,
                     .ingress_timestamp = kTold};
  report.inner = inner;
  return report;
}

class IntReaderTest : public testing::Test {
 protected:
  // A datagram with these reports from node 1001.
  static Bytes Datagram(std::initializer_list<wire::IntReport> reports, uint32_t sequence = 1) {
    Bytes room(4096);
    wire::ByteWriter out(room);
    Write(out, wire::IntReportGroupHeader{.hardware_id = 2, .sequence = sequence, .node_id = 1001});
    for (const wire::IntReport& report : reports) WriteIntReport(out, report);
    room.resize(out.offset());
    return room;
  }

  void Take(const Bytes& datagram, bool cut = false, size_t bytes = SIZE_MAX) {
    DecodedFrame frame{};
    frame.kind = FrameKind::kIntReport;
    frame.cut = cut;
    frame.telemetry = std::span(datagram).first(std::min(bytes, datagram.size()));
    reader_.Take(frame, 4, kArrival, out_);
    EXPECT_TRUE(ledger().Balances());
  }
  const Ledger& ledger() const { return reader_.counters().int_reports; }
  uint64_t Dropped(DropReason reason) const {
    return ledger().dropped[static_cast<size_t>(reason)];
  }

  TelemetryReader reader_{{}};
  RecordBatch out_;
};

// With INT-MD, each node adds its metadata in front, so that the last hop is first.
TEST_F(IntReaderTest, StackInsideAPacketYieldsARecordPerHop) {
  const wire::IntMdHeader header = {.hop_words = 1, .instructions = wire::kIntNodeId};
  Bytes stack(wire::IntMdHeader::kSize + 2 * 4);
  wire::ByteWriter out(stack);
  Write(out, header);
  WriteIntHop(out, header, {.present = wire::kIntNodeId, .node_id = 2002});
  WriteIntHop(out, header, {.present = wire::kIntNodeId, .node_id = 2001});
  DecodedFrame frame{};
  frame.destination_qpn = {17};
  frame.psn = 77;
  frame.int_stack = stack;
  reader_.TakeStack(frame, 4, kArrival, out_);
  EXPECT_EQ(reader_.counters().int_stacks, 1u);
  ASSERT_EQ(out_.hops.size(), 2u);
  for (const HopRecord& hop : out_.hops) {
    EXPECT_EQ(hop.hop_count, 2u);
    EXPECT_EQ(hop.node_id, hop.hop == 0 ? 2001u : 2002u);
    EXPECT_EQ(hop.packet.psn, 77u);
    EXPECT_EQ(hop.packet.flow.destination_qpn, Qpn{17});
    EXPECT_EQ(hop.tap, 4u);
  }
  EXPECT_NE(out_.hops[0].hop, out_.hops[1].hop);
}

TEST_F(IntReaderTest, PostcardYieldsAHopRecord) {
  const Bytes packet = Packet();
  Take(Datagram({Postcard(packet)}));
  ASSERT_EQ(out_.hops.size(), 1u);
  const HopRecord& hop = out_.hops[0];
  EXPECT_EQ(hop.tap, 4u);
  EXPECT_EQ(hop.node_id, 1001u);
  EXPECT_EQ(hop.hop_count, 1u);
  EXPECT_TRUE(hop.congested);
  EXPECT_TRUE(hop.tracked);
  EXPECT_FALSE(hop.dropped);
  EXPECT_TRUE(hop.packet.known);
  EXPECT_EQ(hop.packet.flow.source, *ParseIpAddress("10.0.0.1"));
  EXPECT_EQ(hop.packet.flow.destination_qpn, Qpn{17});
  EXPECT_EQ(hop.packet.psn, 77u);
  EXPECT_EQ(hop.packet.ttl, 62u);
  EXPECT_EQ(hop.packet.traffic_class & 3, wire::kEcnCe);
  EXPECT_EQ(hop.metadata.queue_occupancy, 123'456u);
  EXPECT_EQ(hop.metadata.egress_port, 9u);
  EXPECT_TRUE(hop.event_time_told);
  EXPECT_EQ(hop.event_time, kArrival - Duration(5000));
  EXPECT_EQ(hop.arrival_time, kArrival);
  EXPECT_EQ(ledger().decoded, 1u);
}

TEST_F(IntReaderTest, UnsynchronisedClockIsIgnored) {
  const Bytes packet = Packet();
  wire::IntReport report = Postcard(packet);
  report.metadata.ingress_timestamp = 123'456'789;  // since the node's start
  Take(Datagram({report}));
  report.metadata.ingress_timestamp = uint64_t{1} << 63;
  Take(Datagram({report}, 2));
  for (const HopRecord& hop : out_.hops) {
    EXPECT_FALSE(hop.event_time_told);
    EXPECT_EQ(hop.event_time, kArrival);
  }
}

TEST_F(IntReaderTest, ReportsOfADatagramAreCountedSeparately) {
  const Bytes a = Packet(1);
  const Bytes b = Packet(2);
  Take(Datagram({Postcard(a), Postcard(b)}));
  EXPECT_EQ(reader_.counters().int_datagrams, 1u);
  EXPECT_EQ(ledger().received, 2u);
  ASSERT_EQ(out_.hops.size(), 2u);
  EXPECT_EQ(out_.hops[1].packet.psn, 2u);
}

TEST_F(IntReaderTest, ReportWithoutPacketYieldsARecord) {
  wire::IntReport report = Postcard({});
  report.header.inner_type = wire::kIntInnerNone;
  Take(Datagram({report}));
  ASSERT_EQ(out_.hops.size(), 1u);
  EXPECT_FALSE(out_.hops[0].packet.known);
  EXPECT_EQ(out_.hops[0].metadata.queue_occupancy, 123'456u);
  EXPECT_EQ(reader_.counters().packets_unknown, 1u);
}

// A packet with the metadata stack of node 11, then 12; the sink sends the report.
Bytes StackedPacket() {
  const wire::IntMdHeader header = {.hop_words = 2,
                                    .instructions = wire::kIntNodeId | wire::kIntHopLatency};
  Bytes stack(wire::IntShim::kSize + wire::IntMdHeader::kSize + 16);
  wire::ByteWriter out(stack);
  Write(out, wire::IntShim{.next_protocol = wire::IntShim::kUdpPayload,
                           .length_words = 7,
                           .original = wire::kUdpPortRoce});
  Write(out, header);
  for (const uint32_t node : {12u, 11u}) {
    WriteIntHop(out, header,
                {.present = header.instructions, .node_id = node, .hop_latency = node * 100});
  }
  const Bytes plain = Packet();
  return Frame()
      .Eth()
      .Ipv4("10.0.0.1", "10.0.0.2")
      .Udp(49152, TelemetryPorts{}.int_md)
      .Payload(stack)
      .Payload(std::span(plain).subspan(42))
      .Build();
}

TEST_F(IntReaderTest, StackYieldsHopsInPathOrderWithReporterLast) {
  const Bytes packet = StackedPacket();
  Take(Datagram({Postcard(packet)}));
  ASSERT_EQ(out_.hops.size(), 3u);
  std::array<uint32_t, 3> nodes{};
  for (const HopRecord& hop : out_.hops) {
    EXPECT_EQ(hop.hop_count, 3u);
    EXPECT_EQ(hop.packet.psn, 77u);
    nodes.at(hop.hop) = hop.node_id;
  }
  EXPECT_EQ(nodes, (std::array<uint32_t, 3>{11, 12, 1001}));
  EXPECT_EQ(ledger().received, 1u);
  EXPECT_EQ(reader_.counters().hop_records, 3u);
}

TEST_F(IntReaderTest, InnerOnlyReportYieldsHopsOfTheStack) {
  const Bytes packet = StackedPacket();
  wire::IntReport report = Postcard(packet);
  report.header.type = wire::kIntReportInnerOnly;
  Take(Datagram({report}));
  ASSERT_EQ(out_.hops.size(), 2u);
  EXPECT_EQ(out_.hops[0].node_id, 12u) << "the last hop is first in the stack";
  EXPECT_EQ(out_.hops[0].hop, 1u);
  EXPECT_EQ(out_.hops[0].hop_count, 2u);
}

TEST_F(IntReaderTest, FiltersApplyToThePacket) {
  TelemetryReader::Options options;
  options.filter.qpns = {Qpn{18}};
  reader_ = TelemetryReader(options);
  const Bytes packet = Packet();
  wire::IntReport unknown = Postcard({});
  unknown.header.inner_type = wire::kIntInnerNone;
  Take(Datagram({Postcard(packet), unknown}));
  EXPECT_EQ(ledger().filtered, 2u);
  EXPECT_TRUE(out_.empty());
}

TEST_F(IntReaderTest, SequenceGapsAreLostDatagrams) {
  const Bytes packet = Packet();
  for (const uint32_t sequence : {0x3ffffeu, 0x3fffffu, 2u}) {
    Take(Datagram({Postcard(packet)}, sequence));
  }
  ASSERT_EQ(reader_.Sources().size(), 1u);
  const TelemetrySource source = reader_.Sources()[0];
  EXPECT_EQ(source.node_id, 1001u);
  EXPECT_EQ(source.hardware_id, 2u);
  EXPECT_EQ(source.datagrams, 3u);
  EXPECT_EQ(source.lost, 2u);
}

TEST_F(IntReaderTest, ReportsBeforeTruncationAreUsed) {
  const Bytes packet = Packet();
  const Bytes datagram = Datagram({Postcard(packet), Postcard(packet)});
  Take(datagram, true, datagram.size() - 1);
  EXPECT_EQ(ledger().decoded, 1u);
  EXPECT_EQ(Dropped(DropReason::kTruncatedTelemetry), 1u);
  Take(datagram, false, datagram.size() - 1);
  EXPECT_EQ(Dropped(DropReason::kBadInt), 1u) << "not truncated";
}

TEST_F(IntReaderTest, WrongVersionsAndTypesAreDropped) {
  const Bytes packet = Packet();
  Bytes datagram = Datagram({Postcard(packet)});
  datagram[0] = 0x10;  // version 1
  Take(datagram);
  EXPECT_EQ(Dropped(DropReason::kBadInt), 1u);
  wire::IntReport ioam;
  ioam.header.type = wire::kIntReportIoam;
  Take(Datagram({ioam, Postcard(packet)}));
  EXPECT_EQ(Dropped(DropReason::kUnknownReport), 1u);
  EXPECT_EQ(ledger().decoded, 1u) << "the following report";
  Take({});
  EXPECT_EQ(ledger().received, 4u);
}

TEST_F(IntReaderTest, SendersBeyondTheLimitAreCounted) {
  for (uint32_t node = 0; node <= TelemetryReader::kMaximumSources; ++node) {
    Bytes room(wire::IntReportGroupHeader::kSize);
    wire::ByteWriter out(room);
    Write(out, wire::IntReportGroupHeader{.node_id = node});
    Take(room);
  }
  EXPECT_EQ(reader_.Sources().size(), TelemetryReader::kMaximumSources);
  EXPECT_EQ(reader_.counters().untracked, 1u);
}

}  // namespace
}  // namespace rocescope::test
