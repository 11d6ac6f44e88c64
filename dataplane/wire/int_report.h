// SPDX-License-Identifier: BSD-3-Clause
// INT's reports to a collector, one UDP datagram each (P4.org, "Telemetry Report Format
// Specification" v2.0, section 3): what INT-XD sends for each hop of a packet ("postcards"), and
// what the sink of INT-MD sends for all of them. A datagram is a group header and one or more
// individual reports; the UDP port is the operator's choice.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/wire/int_metadata.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

// Telemetry Report Group Header (3.2).
struct IntReportGroupHeader {
  static constexpr size_t kSize = 8;
  static constexpr uint32_t kSequenceMask = 0x3fffff;
  uint8_t version = 2;      // 4 bits
  uint8_t hardware_id = 0;  // 6 bits; a line card, or whatever numbers its reports by itself
  uint32_t sequence = 0;    // 22 bits; of datagrams from one node and hardware id
  uint32_t node_id = 0;
};

constexpr void Read(ByteReader& in, IntReportGroupHeader& h) {
  const auto at = in.Take<IntReportGroupHeader::kSize>();
  const uint32_t first = at.U32<0>();
  h.version = static_cast<uint8_t>(first >> 28);
  h.hardware_id = static_cast<uint8_t>(first >> 22 & 0x3f);
  h.sequence = first & IntReportGroupHeader::kSequenceMask;
  h.node_id = at.U32<4>();
}
constexpr void Write(ByteWriter& out, const IntReportGroupHeader& h) {
  out.U32(uint32_t{h.version} << 28 | uint32_t{h.hardware_id & 0x3fu} << 22 |
          (h.sequence & IntReportGroupHeader::kSequenceMask));
  out.U32(h.node_id);
}
static_assert(EncodedSize<IntReportGroupHeader>() == IntReportGroupHeader::kSize);

enum IntReportType : uint8_t { kIntReportInnerOnly = 0, kIntReportInt = 1, kIntReportIoam = 2 };

enum IntInnerType : uint8_t {
  kIntInnerNone = 0,
  kIntInnerTlv = 1,
  kIntInnerDomain = 2,
  kIntInnerEthernet = 3,
  kIntInnerIpv4 = 4,
  kIntInnerIpv6 = 5,
};

// The first word of an individual report (3.3).
struct IntReportHeader {
  static constexpr size_t kSize = 4;
  uint8_t type = kIntReportInt;        // 4 bits
  uint8_t inner_type = kIntInnerNone;  // 4 bits
  uint8_t length_words = 0;            // all that follows this word
  uint8_t metadata_words = 0;          // of it the baseline and domain specific metadata
  bool dropped = false;                // D
  bool congested = false;              // Q
  bool tracked = false;                // F: the flow matches a watch list
  bool intermediate = false;           // I: from the middle of an INT-MD path
};

constexpr void Read(ByteReader& in, IntReportHeader& h) {
  const auto at = in.Take<IntReportHeader::kSize>();
  h.type = at.U8<0>() >> 4;
  h.inner_type = at.U8<0>() & 0xf;
  h.length_words = at.U8<1>();
  h.metadata_words = at.U8<2>();
  const uint8_t flags = at.U8<3>();
  h.dropped = (flags & 0x80) != 0;
  h.congested = (flags & 0x40) != 0;
  h.tracked = (flags & 0x20) != 0;
  h.intermediate = (flags & 0x10) != 0;
}
constexpr void Write(ByteWriter& out, const IntReportHeader& h) {
  out.U8(static_cast<uint8_t>(h.type << 4 | (h.inner_type & 0xf)));
  out.U8(h.length_words);
  out.U8(h.metadata_words);
  out.U8(static_cast<uint8_t>((h.dropped ? 0x80 : 0) | (h.congested ? 0x40 : 0) |
                              (h.tracked ? 0x20 : 0) | (h.intermediate ? 0x10 : 0)));
}
static_assert(EncodedSize<IntReportHeader>() == IntReportHeader::kSize);

// The fixed part of report type INT's main contents (3.3.1).
struct IntReportMain {
  static constexpr size_t kSize = 8;
  uint16_t metadata_bits = 0;  // RepMdBits: IntInstruction
  uint16_t domain_id = 0;      // 0: the default domain, in which the following mean nothing
  uint16_t domain_bits = 0;    // DSMdBits
  uint16_t domain_status = 0;  // DSMdstatus
};

constexpr void Read(ByteReader& in, IntReportMain& h) {
  const auto at = in.Take<IntReportMain::kSize>();
  h.metadata_bits = at.U16<0>();
  h.domain_id = at.U16<2>();
  h.domain_bits = at.U16<4>();
  h.domain_status = at.U16<6>();
}
constexpr void Write(ByteWriter& out, const IntReportMain& h) {
  out.U16(h.metadata_bits);
  out.U16(h.domain_id);
  out.U16(h.domain_bits);
  out.U16(h.domain_status);
}
static_assert(EncodedSize<IntReportMain>() == IntReportMain::kSize);

enum IntTlvType : uint8_t {
  kIntTlvDomain = 0,
  kIntTlvEthernet = 1,
  kIntTlvIpv4 = 2,
  kIntTlvIpv6 = 3,
};

// In front of each part of an inner content of type TLV (3.3.2).
struct IntTlvHeader {
  static constexpr size_t kSize = 4;
  uint8_t type = kIntTlvDomain;  // 4 bits
  uint8_t length_words = 0;      // behind this word
  uint16_t data_template = 0;
};

constexpr void Read(ByteReader& in, IntTlvHeader& h) {
  const auto at = in.Take<IntTlvHeader::kSize>();
  h.type = at.U8<0>() >> 4;
  h.length_words = at.U8<1>();
  h.data_template = at.U16<2>();
}
constexpr void Write(ByteWriter& out, const IntTlvHeader& h) {
  out.U8(static_cast<uint8_t>(h.type << 4));
  out.U8(h.length_words);
  out.U16(h.data_template);
}
static_assert(EncodedSize<IntTlvHeader>() == IntTlvHeader::kSize);

// An individual report as a whole. Spans point into what it was read from.
struct IntReport {
  IntReportHeader header;
  IntReportMain main;    // of type INT alone, as the following two
  IntMetadata metadata;  // without node id, which the group header has
  std::span<const uint8_t> domain_metadata;
  std::span<const uint8_t> inner;  // as header.inner_type says; whole words
};

enum class IntReportFault : uint8_t {
  kNone,
  kTruncated,    // the octets end before the report does
  kBadLength,    // its lengths contradict each other
  kUnknownType,  // neither inner only nor INT: its parts are not known, `header` and `inner` are
};

// Reads the report at the front of `in` and leaves `in` behind it, whatever its fault but
// kTruncated, which leaves nothing.
IntReportFault ReadIntReport(ByteReader& in, IntReport& report);

// The longest inner content beside all baseline metadata: length_words is 8 bits wide.
inline constexpr size_t kMaximumIntInner =
    255 * 4 - IntReportMain::kSize - 4 * size_t{IntMetadataWords(0xffff)};

// Writes `report`: its lengths from main.metadata_bits, domain_metadata (whole words) and inner,
// which is padded with zeros to a whole word. False, and nothing is written, if it is too long.
bool WriteIntReport(ByteWriter& out, const IntReport& report);

// The packet that the inner content holds or, as a TLV, the first in it; empty if there is none.
// `type` becomes kIntInnerEthernet, -Ipv4 or -Ipv6, or else kIntInnerNone.
std::span<const uint8_t> InnerPacketOf(const IntReport& report, IntInnerType& type);

}  // namespace rocescope::wire
