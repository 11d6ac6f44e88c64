// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/int_report.h"

namespace rocescope::wire {
namespace {

// Bit 0 is reserved, but occupies four bytes if a node sets it.
void ReadMetadata(ByteReader& in, uint16_t bits, IntMetadata& metadata) {
  metadata = {};
  if (bits & kIntNodeId) in.Skip(4);
  internal::ReadSharedMetadata(in, bits, metadata);
  if (bits & kIntDropReason) {
    const uint32_t drop = internal::TakeU32(in, kIntDropReason, metadata);
    // If the queue metadata is present, it has the same queue ID.
    if (!metadata.Has(kIntQueue)) metadata.queue_id = static_cast<uint8_t>(drop >> 24);
    metadata.drop_reason = static_cast<uint8_t>(drop >> 16);
  }
}

void WriteMetadata(ByteWriter& out, uint16_t bits, const IntMetadata& metadata) {
  if (bits & kIntNodeId) out.U32(UINT32_MAX);
  internal::WriteSharedMetadata(out, bits, metadata);
  if (bits & kIntDropReason) {
    internal::PutU32(out, metadata.Has(kIntDropReason),
                     uint32_t{metadata.queue_id} << 24 | uint32_t{metadata.drop_reason} << 16);
  }
}

}  // namespace

IntReportFault ReadIntReport(ByteReader& in, IntReport& report) {
  report = {};
  Read(in, report.header);
  const std::span<const uint8_t> contents = in.Bytes(size_t{report.header.length_words} * 4);
  if (!in.ok()) return IntReportFault::kTruncated;
  ByteReader body(contents);
  if (report.header.type == kIntReportInt) {
    Read(body, report.main);
    ByteReader metadata(body.Bytes(size_t{report.header.metadata_words} * 4));
    if (!body.ok()) return IntReportFault::kBadLength;
    ReadMetadata(metadata, report.main.metadata_bits, report.metadata);
    if (!metadata.ok()) return IntReportFault::kBadLength;
    report.domain_metadata = metadata.Rest();
  }
  report.inner = body.Rest();
  return report.header.type <= kIntReportInt ? IntReportFault::kNone : IntReportFault::kUnknownType;
}

bool WriteIntReport(ByteWriter& out, const IntReport& report) {
  const bool is_int = report.header.type == kIntReportInt;
  const size_t inner_words = (report.inner.size() + 3) / 4;
  const size_t metadata_words =
      is_int ? IntMetadataWords(report.main.metadata_bits) + report.domain_metadata.size() / 4 : 0;
  const size_t words = (is_int ? IntReportMain::kSize / 4 : 0) + metadata_words + inner_words;
  if (words > UINT8_MAX) return false;
  IntReportHeader header = report.header;
  header.length_words = static_cast<uint8_t>(words);
  header.metadata_words = static_cast<uint8_t>(metadata_words);
  Write(out, header);
  if (is_int) {
    Write(out, report.main);
    WriteMetadata(out, report.main.metadata_bits, report.metadata);
    out.Bytes(report.domain_metadata.first(report.domain_metadata.size() / 4 * 4));
  }
  out.Bytes(report.inner);
  out.Zeros(inner_words * 4 - report.inner.size());
  return true;
}

std::span<const uint8_t> InnerPacketOf(const IntReport& report, IntInnerType& type) {
  const uint8_t inner = report.header.inner_type;
  if (inner >= kIntInnerEthernet && inner <= kIntInnerIpv6) {
    type = static_cast<IntInnerType>(inner);
    return report.inner;
  }
  type = kIntInnerNone;
  if (inner != kIntInnerTlv) return {};
  ByteReader in(report.inner);
  while (in.remaining() > 0) {
    IntTlvHeader tlv;
    Read(in, tlv);
    const std::span<const uint8_t> data = in.Bytes(size_t{tlv.length_words} * 4);
    if (!in.ok()) return {};
    if (tlv.type >= kIntTlvEthernet && tlv.type <= kIntTlvIpv6) {
      type = static_cast<IntInnerType>(tlv.type - kIntTlvEthernet + kIntInnerEthernet);
      return data;
    }
  }
  return {};
}

}  // namespace rocescope::wire
