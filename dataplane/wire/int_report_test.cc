// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/int_report.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

using test::ExpectGolden;
using test::ExpectShortReadsFail;
using Bytes = std::vector<uint8_t>;

TEST(IntReportGroup, MatchesTheSpecification) {
  const Bytes golden = {
      0b0010'0001, 0b01'111111, 0xff, 0xfe,  // Ver 2, hw_id 5, sequence 0x3ffffe
      0x00,        0x00,        0x03, 0xe9,  // Node ID 1001
  };
  ExpectGolden(IntReportGroupHeader{.hardware_id = 5, .sequence = 0x3ffffe, .node_id = 1001},
               golden);
  ExpectShortReadsFail<IntReportGroupHeader>(golden);
}

TEST(IntReportHeader, MatchesTheSpecification) {
  const Bytes golden = {
      0x14,         // RepType 1 (INT), InType 4 (IPv4)
      0x0e,         // Report Length 14
      0x02,         // MD Length 2
      0b1010'0000,  // D, Q, F, I, reserved
  };
  ExpectGolden(IntReportHeader{.type = kIntReportInt,
                               .inner_type = kIntInnerIpv4,
                               .length_words = 14,
                               .metadata_words = 2,
                               .dropped = true,
                               .tracked = true},
               golden);
  ExpectShortReadsFail<IntReportHeader>(golden);
}

TEST(IntReportHeader, KeepsEachFlagInItsOwnBit) {
  EXPECT_EQ(test::Encoded(IntReportHeader{.dropped = true})[3], 0x80);
  EXPECT_EQ(test::Encoded(IntReportHeader{.congested = true})[3], 0x40);
  EXPECT_EQ(test::Encoded(IntReportHeader{.tracked = true})[3], 0x20);
  EXPECT_EQ(test::Encoded(IntReportHeader{.intermediate = true})[3], 0x10);
}

TEST(IntReportMain, MatchesTheSpecification) {
  const Bytes golden = {
      0x50, 0x00,  // RepMdBits: bits 1 and 3
      0x54, 0x53,  // Domain Specific ID
      0x80, 0x00,  // DSMdBits
      0x00, 0x01,  // DSMdstatus
  };
  ExpectGolden(IntReportMain{.metadata_bits = kIntPorts | kIntQueue,
                             .domain_id = 0x5453,
                             .domain_bits = 0x8000,
                             .domain_status = 1},
               golden);
  ExpectShortReadsFail<IntReportMain>(golden);
}

TEST(IntTlv, MatchesTheSpecification) {
  const Bytes golden = {0x20, 0x05, 0x00, 0x00};  // type 2 (IPv4), 5 words, template 0
  ExpectGolden(IntTlvHeader{.type = kIntTlvIpv4, .length_words = 5}, golden);
}

// The specification's first example: level 1 interfaces and queue occupancy of a TCP packet that
// was cut behind its TCP header, 5 words of IP and 5 of TCP.
Bytes FirstExample() {
  Bytes bytes = {
      0x14, 14,   2,    0x20,  // INT, IPv4; Report Length 14, MD Length 2, F
      0x50, 0x00, 0x00, 0x00,  // RepMdBits 1 and 3, Domain Specific ID
      0x00, 0x00, 0x00, 0x00,  // DSMdBits, DSMdstatus
      0x00, 0x07, 0x00, 0x09,  // ingress interface 7, egress interface 9
      0x02, 0x00, 0x10, 0x00,  // queue 2, occupancy 4096
  };
  bytes.push_back(0x45);
  bytes.resize(bytes.size() + 39, 0xaa);
  return bytes;
}

TEST(IntReport, ReadsTheSpecificationsFirstExample) {
  const Bytes bytes = FirstExample();
  ByteReader in(bytes);
  IntReport report;
  ASSERT_EQ(ReadIntReport(in, report), IntReportFault::kNone);
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(report.metadata.present, kIntPorts | kIntQueue);
  EXPECT_EQ(report.metadata.ingress_port, 7u);
  EXPECT_EQ(report.metadata.egress_port, 9u);
  EXPECT_EQ(report.metadata.queue_id, 2u);
  EXPECT_EQ(report.metadata.queue_occupancy, 4096u);
  IntInnerType type = kIntInnerNone;
  const std::span<const uint8_t> packet = InnerPacketOf(report, type);
  EXPECT_EQ(type, kIntInnerIpv4);
  EXPECT_EQ(packet.size(), 40u);
  EXPECT_EQ(packet[0], 0x45);
}

TEST(IntReport, WritesTheSpecificationsFirstExample) {
  const Bytes bytes = FirstExample();
  IntReport report;
  report.header = {.inner_type = kIntInnerIpv4, .tracked = true};
  report.main.metadata_bits = kIntPorts | kIntQueue;
  report.metadata = {.present = kIntPorts | kIntQueue,
                     .ingress_port = 7,
                     .egress_port = 9,
                     .queue_id = 2,
                     .queue_occupancy = 4096};
  report.inner = std::span(bytes).last(40);
  std::array<uint8_t, 128> room{};
  ByteWriter out(room);
  ASSERT_TRUE(WriteIntReport(out, report));
  EXPECT_EQ(Bytes(room.begin(), room.begin() + out.offset()), bytes);
}

TEST(IntReport, FillsTheLastWordOfTheInnerPacket) {
  const Bytes packet = {0x45, 0x00, 0x00};
  IntReport report;
  report.header = {.type = kIntReportInnerOnly, .inner_type = kIntInnerIpv4};
  report.inner = packet;
  std::array<uint8_t, 16> room{};
  ByteWriter out(room);
  ASSERT_TRUE(WriteIntReport(out, report));
  EXPECT_EQ(Bytes(room.begin(), room.begin() + out.offset()),
            (Bytes{0x04, 1, 0, 0, 0x45, 0x00, 0x00, 0x00}));
}

TEST(IntReport, TellsQueueAndReasonOfADrop) {
  const Bytes bytes = {
      0x10, 5,    3,    0x80,                          // INT, no inner; 5 words, MD 3, D
      0x08, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // bits 4 and 15
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a,  // ingress timestamp
      0x04, 0x4d, 0x00, 0x00,                          // queue 4, reason 77, padding
  };
  ByteReader in(bytes);
  IntReport report;
  ASSERT_EQ(ReadIntReport(in, report), IntReportFault::kNone);
  EXPECT_TRUE(report.header.dropped);
  EXPECT_EQ(report.metadata.ingress_timestamp, 42u);
  EXPECT_EQ(report.metadata.queue_id, 4u);
  EXPECT_EQ(report.metadata.drop_reason, 77u);

  std::array<uint8_t, 64> room{};
  ByteWriter out(room);
  ASSERT_TRUE(WriteIntReport(out, report));
  EXPECT_EQ(Bytes(room.begin(), room.begin() + out.offset()), bytes);
}

// The specification's second example: domain specific metadata, and TLVs inside.
TEST(IntReport, FindsThePacketBehindOtherTlvs) {
  const Bytes bytes = {
      0x11, 9,    3,    0x20,  // INT, TLV; 9 words, MD 3
      0x50, 0x00, 0x54, 0x53,  // bits 1 and 3, domain
      0x80, 0x00, 0x00, 0x00,  // DSMdBits: the first
      0x00, 0x07, 0x00, 0x09,  // interfaces
      0x02, 0x00, 0x10, 0x00,  // queue
      0xd0, 0x0d, 0xd0, 0x0d,  // domain specific metadata
      0x00, 0x01, 0x00, 0x07,  // TLV: domain specific extension, 1 word, template 7
      0x01, 0x02, 0x03, 0x04,  //
      0x20, 0x01, 0x00, 0x00,  // TLV: IPv4, 1 word
      0x45, 0x00, 0x00, 0x14,  //
  };
  ByteReader in(bytes);
  IntReport report;
  ASSERT_EQ(ReadIntReport(in, report), IntReportFault::kNone);
  EXPECT_EQ(report.domain_metadata.size(), 4u);
  IntInnerType type = kIntInnerNone;
  const std::span<const uint8_t> packet = InnerPacketOf(report, type);
  EXPECT_EQ(type, kIntInnerIpv4);
  EXPECT_EQ(packet.size(), 4u);
}

TEST(IntReport, TellsCutReportsFromWrongOnes) {
  const Bytes whole = FirstExample();
  for (size_t size = 0; size < whole.size(); ++size) {
    ByteReader in(std::span<const uint8_t>(whole).first(size));
    IntReport report;
    EXPECT_EQ(ReadIntReport(in, report), IntReportFault::kTruncated) << size;
  }
  const auto fault_with = [&](size_t at, uint8_t value) {
    Bytes bytes = whole;
    bytes[at] = value;
    ByteReader in(bytes);
    IntReport report;
    return ReadIntReport(in, report);
  };
  EXPECT_EQ(fault_with(1, 1), IntReportFault::kBadLength) << "too short for the main contents";
  EXPECT_EQ(fault_with(2, 13), IntReportFault::kBadLength) << "more metadata than report";
  EXPECT_EQ(fault_with(2, 1), IntReportFault::kBadLength) << "less metadata than the bits say";
  EXPECT_EQ(fault_with(0, 0x24), IntReportFault::kUnknownType) << "IOAM";
}

TEST(IntReport, RefusesToWriteMoreThanItsLengthCanSay) {
  const Bytes packet(1024, 1);
  IntReport report;
  report.header.inner_type = kIntInnerEthernet;
  report.main.metadata_bits = 0xffff;
  report.inner = std::span(packet).first(kMaximumIntInner + 1);
  std::array<uint8_t, 2048> room{};
  ByteWriter out(room);
  EXPECT_FALSE(WriteIntReport(out, report));
  EXPECT_EQ(out.offset(), 0u);
  report.inner = std::span(packet).first(kMaximumIntInner);
  EXPECT_TRUE(WriteIntReport(out, report));
}

}  // namespace
}  // namespace rocescope::wire
