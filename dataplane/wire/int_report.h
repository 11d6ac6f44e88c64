// SPDX-License-Identifier: BSD-3-Clause
// INT reports to a collector, in UDP datagrams (P4.org, "Telemetry Report Format Specification"
// v2.0, section 3). INT-XD sends one for each hop of a packet ("postcards"), and the sink of INT-MD
// sends one for all hops. A datagram is a group header and one or more individual reports. The
// operator chooses the UDP port.
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
  uint8_t version = 2;  // 4 bits
  // 6 bits; identifies a line card or another unit with its own sequence numbers.
  uint8_t hardware_id = 0;
  uint32_t sequence = 0;  // 22 bits; counts datagrams from one node and hardware ID
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
  uint8_t length_words = 0;            // length of the report after this word
  uint8_t metadata_words = 0;          // of which baseline and domain-specific metadata
  bool dropped = false;                // D
  bool congested = false;              // Q
  bool tracked = false;                // F: the flow matches a watch list
  bool intermediate = false;           // I: from an intermediate hop of an INT-MD path
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

// The fixed part of the main contents of an INT report (3.3.1).
struct IntReportMain {
  static constexpr size_t kSize = 8;
  uint16_t metadata_bits = 0;  // RepMdBits: IntInstruction
  uint16_t domain_id = 0;      // 0: the default domain; the following fields are unused
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

// The header of each part of an inner content of type TLV (3.3.2).
struct IntTlvHeader {
  static constexpr size_t kSize = 4;
  uint8_t type = kIntTlvDomain;  // 4 bits
  uint8_t length_words = 0;      // length after this word
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

// A complete individual report. Spans point into the input.
struct IntReport {
  IntReportHeader header;
  IntReportMain main;    // like the two following fields, for reports of type INT only
  IntMetadata metadata;  // without the node ID, which is in the group header
  std::span<const uint8_t> domain_metadata;
  std::span<const uint8_t> inner;  // type according to header.inner_type; a multiple of four bytes
};

enum class IntReportFault : uint8_t {
  kNone,
  kTruncated,    // the input ends inside the report
  kBadLength,    // the lengths contradict each other
  kUnknownType,  // neither inner-only nor INT: only `header` and `inner` are valid
};

// Reads the report at the front of `in` and advances `in` past it for all results except
// kTruncated, which leaves `in` empty.
IntReportFault ReadIntReport(ByteReader& in, IntReport& report);

// Maximum length of the inner content together with all baseline metadata: length_words has 8 bits.
inline constexpr size_t kMaximumIntInner =
    255 * 4 - IntReportMain::kSize - 4 * size_t{IntMetadataWords(0xffff)};

// Writes `report`. Its lengths follow from main.metadata_bits, domain_metadata (a multiple of four
// bytes) and inner, which is zero-padded to a multiple of four bytes. Returns false and writes
// nothing if the report is too long.
bool WriteIntReport(ByteWriter& out, const IntReport& report);

// Returns the packet in the inner content, or the first one in a TLV; empty if there is none. Sets
// `type` to kIntInnerEthernet, kIntInnerIpv4, kIntInnerIpv6 or kIntInnerNone.
std::span<const uint8_t> InnerPacketOf(const IntReport& report, IntInnerType& type);

}  // namespace rocescope::wire
